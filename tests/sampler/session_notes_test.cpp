#include "sampler/collector/session_notes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace sample::collector {
namespace {

TEST(SessionNotes, name_who_is_gone_by_its_file) {
    constexpr pid_t kNobody = 1 << 30;
    SessionNotes notes;
    notes.confined(kNobody, "/usr/bin/app", capture::Confinement::stopped);
    EXPECT_TRUE(notes.text(true).starts_with("app (1073741824) confined itself by seccomp"))
        << notes.text(true);
}

TEST(SessionNotes, name_who_lives_as_it_calls_itself) {
    SessionNotes notes;
    notes.confined(::getpid(), "/usr/bin/app", capture::Confinement::stopped);
    EXPECT_TRUE(notes.text(true).starts_with("sampler_collect (" + std::to_string(::getpid())))
        << notes.text(true);
}

}  // namespace
}  // namespace sample::collector
