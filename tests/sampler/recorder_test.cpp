// What goes into a recording once, whoever is profiled.
#include "sampler/collector/recorder.h"

#include "tests/trace/recording_fixture.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace sample::collector {
namespace {

TEST(Recorder, gives_a_module_one_id) {
    const trace::TemporaryFile file;
    trace::RecordingWriter sink{file.open()};
    Recorder recorder{sink, trace::a_session()};
    recorder.begin("first", "");
    recorder.begin("second", "");
    trace::Module module;
    module.path = "/lib/one";
    module.build_id = {1};
    const ModuleId one = recorder.module(module);
    EXPECT_EQ(recorder.module(module), one);
    module.plugin = true;
    const ModuleId plugin = recorder.module(module);
    EXPECT_NE(plugin, one);
    module.plugin = false;
    module.build_id = {2};
    EXPECT_NE(recorder.module(module), one);
    EXPECT_GT(one.value, kPseudoCount);
    ASSERT_TRUE(recorder.finish({1, false, ""}));
    trace::KeepingSink read;
    ASSERT_TRUE(trace::read_recording(file.bytes(), read));
    ASSERT_EQ(read.sessions.size(), 1U);
    EXPECT_EQ(read.sessions[0].source, "first");
    EXPECT_EQ(read.modules.at(plugin.value - 1).path, "/lib/one");
    EXPECT_TRUE(read.modules.at(plugin.value - 1).plugin);
    EXPECT_EQ(read.modules.at(recorder.pseudo(Pseudo::before_start).value - 1).path,
              trace::kBeforeStart);
}

TEST(Recorder, keeps_the_first_failure) {
    trace::RecordingWriter sink{Fd{::open("/dev/full", O_WRONLY | O_CLOEXEC)}};
    Recorder recorder{sink, trace::a_session()};
    recorder.begin("test", "");
    recorder.flush(trace::FlushMode::worthwhile);
    EXPECT_TRUE(recorder.failure());
    EXPECT_FALSE(recorder.finish({1, false, ""}));
}

TEST(Recorder, says_that_nobody_was_profiled) {
    const trace::TemporaryFile file;
    trace::RecordingWriter sink{file.open()};
    Recorder recorder{sink, trace::a_session()};
    ASSERT_TRUE(recorder.finish({1, false, ""}));
    trace::KeepingSink read;
    ASSERT_TRUE(trace::read_recording(file.bytes(), read));
    ASSERT_EQ(read.sessions.size(), 1U);
    EXPECT_EQ(read.sessions[0].source, "none");
}

}  // namespace
}  // namespace sample::collector
