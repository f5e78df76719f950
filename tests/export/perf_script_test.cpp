#include "core/text.h"
#include "export/formats.h"
#include "threads_profile.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::exports {
namespace {

using callgraph::Profile;

std::string perf_script_text(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_perf_script(profile, to_string_sink(text)).has_value());
    return text;
}

/// The entries, behind the comments.
std::string entries_of(const Profile& profile) {
    const std::string text = perf_script_text(profile);
    return text.substr(text.rfind("#\n") + 2);
}

TEST(PerfScript, writes_an_entry_a_sample_with_its_time_and_weight) {
    const std::string entries = entries_of(threads_profile());
    EXPECT_TRUE(
        entries.starts_with("app              100/100  0.000000400: 300 cpu-clock: \n"
                            "\t               0 [before sampling] ([unknown])\n"
                            "\n"
                            "app              100/100  0.000002000: 1000 cpu-clock: \n"
                            "\t               0 work<\"a\"> (/usr/bin/app)\n"
                            "\t               0 run(int) (/usr/bin/app)\n"
                            "\t               0 main (/usr/bin/app)\n"
                            "\n"
                            "app              100/100  0.000003000: 1000 cpu-clock: \n"))
        << entries;
    EXPECT_NE(entries.find("app              100/100  0.000009000: 1000 cpu-clock: \n"
                           "\t               0 helper (inlined)\n"
                           "\t               0 run(int) (/usr/bin/app)\n"
                           "\t               0 run(int) (/usr/bin/app)\n"
                           "\t               0 main (/usr/bin/app)\n"
                           "\n"
                           "app              100/100  0.000009500: 1000 cpu-clock: \n"
                           "\t               0 main (/usr/bin/app)\n"
                           "\n"),
              std::string::npos)
        << entries;
}

TEST(PerfScript, writes_names_that_readers_keep) {
    const std::string entries = entries_of(threads_profile());
    EXPECT_NE(entries.find("worker_1         100/101  0.015000000: 9000000 cpu-clock: \n"
                           "\t               0 [libtwo words.so+0x1f] "
                           "(/opt/two_words/libtwo_words.so)\n"
                           "\t               0 ::(anonymous namespace)::hidden() "
                           "(/opt/two_words/libtwo_words.so)\n"
                           "\n"),
              std::string::npos)
        << entries;
}

TEST(PerfScript, is_utf8) {
    Profile profile = threads_profile();
    for (auto& function : profile.functions) {
        function.name += '\xff';
    }
    const std::string text = perf_script_text(profile);
    EXPECT_EQ(text, to_utf8(text));
}

TEST(PerfScript, begins_with_what_readers_recognise_and_the_truth) {
    const std::string text = perf_script_text(threads_profile());
    EXPECT_TRUE(text.starts_with("# ========\n# cmdline : ./app --fast\n"));
    EXPECT_NE(text.find("\n# samples lost: 3\n"), std::string::npos);
    EXPECT_NE(text.find("\n# build id : 0123abcd /usr/bin/app\n"), std::string::npos);
}

TEST(PerfScript, keeps_samples_that_stand_for_nothing) {
    ThreadsProfileMaker maker;
    const auto at_f = maker.child(maker.category("app"), maker.function("f"));
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.sample(thread, 1000, at_f, 1000);
    maker.sample(thread, 1500, at_f, 0);
    EXPECT_EQ(
        entries_of(maker.finish()),
        "app              1/1  0.000001000: 1000 cpu-clock: \n\t               0 f ([unknown])\n\n"
        "app              1/1  0.000001500: 0 cpu-clock: \n\t               0 f ([unknown])\n\n");
}

TEST(PerfScript, has_no_times_where_none_are_known) {
    Profile profile = threads_profile();
    profile.timeline.reset();
    EXPECT_TRUE(
        entries_of(profile).starts_with("worker           0/4194306  9000000 cpu-clock: \n"))
        << entries_of(profile);
}

TEST(PerfScript, names_the_event) {
    Profile profile = threads_profile();
    profile.event = profile.metric.unit = "page-faults";
    EXPECT_NE(entries_of(profile).find(" 0.000002000: 1000 page-faults: \n"), std::string::npos);
    profile = threads_profile();
    profile.stats.clock = "wall";
    EXPECT_NE(entries_of(profile).find(" 0.000002000: 1000 wall-clock: \n"), std::string::npos);
}

}  // namespace
}  // namespace sample::exports
