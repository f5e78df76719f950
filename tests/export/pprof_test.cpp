#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "callgraph/tree.h"
#include "core/text.h"
#include "export/formats.h"
#include "pprof_file.h"
#include "random_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace sample::exports {
namespace {

using callgraph::Function;
using callgraph::Inlining;
using callgraph::Profile;

PprofFile written(const Profile& profile) {
    std::string bytes;
    EXPECT_TRUE(write_pprof(profile, to_string_sink(bytes)).has_value());
    Result<PprofFile> file = read_pprof(bytes);
    EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
    return file ? std::move(*file) : PprofFile{};
}

/// What a function's figures are in a profile: self and total, each samples and weight.
struct Figures {
    std::int64_t self_samples = 0;
    std::int64_t self = 0;
    std::int64_t samples = 0;
    std::int64_t total = 0;
    bool operator==(const Figures&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Figures& figures) {
    return out << figures.self_samples << ' ' << figures.self << ' ' << figures.samples << ' '
               << figures.total;
}

/// By function id, recursion counted once, as any reader would add them up.
std::map<std::uint64_t, Figures> figures_of(const PprofFile& file, std::size_t weight = 1) {
    std::map<std::uint64_t, Figures> figures;
    for (const PprofFile::Sample& sample : file.samples) {
        std::set<std::uint64_t> functions;
        for (const std::uint64_t location : sample.locations) {
            for (const PprofFile::Line& line : file.locations.at(location).lines) {
                functions.insert(line.function);
            }
        }
        for (const std::uint64_t function : functions) {
            figures[function].samples += sample.values[0];
            figures[function].total += sample.values[weight];
        }
        if (!sample.locations.empty()) {
            const PprofFile::Location& leaf = file.locations.at(sample.locations.front());
            Figures& self = figures[leaf.lines.front().function];
            self.self_samples += sample.values[0];
            self.self += sample.values[weight];
        }
    }
    return figures;
}

std::map<std::uint64_t, Figures> figures_of(const Profile& profile) {
    std::map<std::uint64_t, Figures> figures;
    for (std::uint64_t id = 1; id <= profile.functions.size(); ++id) {
        const Function& function = profile.functions[id - 1];
        figures[id] = {static_cast<std::int64_t>(function.self_samples),
                       static_cast<std::int64_t>(function.self),
                       static_cast<std::int64_t>(function.samples),
                       static_cast<std::int64_t>(function.total)};
    }
    return figures;
}

std::int64_t total_of(const PprofFile& file) {
    std::int64_t total = 0;
    for (const PprofFile::Sample& sample : file.samples) {
        total += sample.values.at(1);
    }
    return total;
}

/// main at line 5 calls work at 7, into which step at 9 was inlined: 300 ns and 3 samples there.
Profile inlined_profile() {
    Profile profile;
    profile.by_line = true;
    profile.stats.clock = "cpu";
    profile.modules.push_back({"app", "/bin/app", "0123"});
    const std::array<const char*, 3> names{"main", "work", "step"};
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        Function& function = profile.functions.emplace_back();
        function.name = names[i];
        function.source = "/src/app.c";
        function.line = 4 + 2 * i;
        function.module = 1;
        function.total = 300;
    }
    profile.nodes.resize(5);
    const std::array<std::uint32_t, 5> lines{0, 0, 5, 7, 9};
    for (std::uint32_t id = 0; id < profile.nodes.size(); ++id) {
        callgraph::Node& node = profile.nodes[id];
        node.parent = NodeId{id == 0 ? 0 : id - 1};
        node.function = FunctionId{id < 2 ? 0 : id - 1};
        node.line = lines[id];
        node.total = 300;
        node.samples = 3;
    }
    profile.nodes[4].inlining = Inlining::all;
    profile.nodes[4].self = 300;
    profile.nodes[4].self_samples = 3;
    callgraph::link_children(profile.nodes);
    profile.categories = {{"app", NodeId{1}}};
    return profile;
}

TEST(Pprof, figures_are_those_of_the_profile) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        const Profile profile = random_profile(seed);
        const PprofFile file = written(profile);
        EXPECT_EQ(figures_of(file), figures_of(profile)) << "seed " << seed;
        EXPECT_EQ(total_of(file), static_cast<std::int64_t>(profile.nodes[0].total));
    }
}

TEST(Pprof, figures_without_a_timeline_are_the_same) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        Profile profile = random_profile(seed);
        profile.timeline.reset();
        const PprofFile file = written(profile);
        EXPECT_EQ(figures_of(file), figures_of(profile)) << "seed " << seed;
        EXPECT_EQ(total_of(file), static_cast<std::int64_t>(profile.nodes[0].total));
    }
}

TEST(Pprof, what_a_transform_left_out_is_left_out) {
    const Profile profile = callgraph::hide_plugins(random_profile(3));
    ASSERT_TRUE(profile.timeline.has_value());
    EXPECT_EQ(figures_of(written(profile)), figures_of(profile));
}

TEST(Pprof, a_sample_has_a_value_of_each_metric) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        for (const SeveralMetrics& metrics : random_metrics(seed)) {
            SCOPED_TRACE(metrics.name + " " + std::to_string(seed));
            const PprofFile file = written(metrics.all);
            EXPECT_EQ(file.kinds, (std::vector<PprofFile::Kind>{{"samples", "count"},
                                                                {"cpu", "nanoseconds"},
                                                                {"allocated", "bytes"},
                                                                {"wall", "nanoseconds"}}));
            EXPECT_EQ(file.default_type, "cpu");
            for (std::size_t i = 0; i < metrics.alone.size(); ++i) {
                std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> found;
                for (const auto& [function, figures] : figures_of(file, 1 + i)) {
                    found[function - 1] = {figures.total, figures.self};
                }
                EXPECT_EQ(function_totals(metrics.all, found), function_totals(metrics.alone[i]));
                std::map<std::string, std::int64_t> of_thread;
                for (const PprofFile::Sample& sample : file.samples) {
                    if (const auto thread = sample.texts.find("thread");
                        thread != sample.texts.end()) {
                        of_thread[thread->second] += sample.values.at(1 + i);
                    }
                }
                if (metrics.name == "as it is") {
                    for (const callgraph::ThreadTotals& thread : metrics.alone[i].threads) {
                        EXPECT_EQ(of_thread[thread.name], static_cast<std::int64_t>(thread.total));
                    }
                }
            }
            ASSERT_FALSE(HasFailure());
        }
    }
}

TEST(Pprof, a_stack_of_a_thread_is_one_sample_whatever_has_weight_there) {
    const PprofFile file = written(random_metrics(1).front().all);
    std::set<std::pair<std::int64_t, std::vector<std::uint64_t>>> seen;
    for (const PprofFile::Sample& sample : file.samples) {
        seen.emplace(sample.numbers.at("tid"), sample.locations);
    }
    // Both categories may have the same stack.
    EXPECT_GT(2 * seen.size(), file.samples.size());
    EXPECT_TRUE(
        std::any_of(file.samples.begin(), file.samples.end(), [](const PprofFile::Sample& sample) {
            return sample.values.at(1) != 0 && sample.values.at(2) != 0 && sample.values.at(3) != 0;
        }));
}

TEST(Pprof, samples_in_zones_have_the_innermost_one) {
    Profile profile = random_profile(1);
    EXPECT_FALSE(written(profile).samples.front().texts.contains("zone"));
    profile.functions[0].flags |= callgraph::kZone;
    profile.functions[1].flags |= callgraph::kZone;
    profile.functions[1].name = "inner";
    std::map<std::string, std::int64_t> expected;
    for (const callgraph::Node& node : profile.nodes) {
        const callgraph::Node* at = &node;
        while (at->function.value > 2) {
            at = &profile.node(at->parent);
        }
        if (!at->function.is_none()) {
            expected[profile.function(at->function).name] += static_cast<std::int64_t>(node.self);
        }
    }
    ASSERT_EQ(expected.size(), 2);
    std::map<std::string, std::int64_t> labelled;
    for (const PprofFile::Sample& sample : written(profile).samples) {
        if (const auto zone = sample.texts.find("zone"); zone != sample.texts.end()) {
            labelled[zone->second] += sample.values.at(1);
        }
    }
    EXPECT_EQ(labelled, expected);
}

TEST(Pprof, threads_have_their_own_samples) {
    const Profile profile = random_profile(1);
    std::map<std::string, std::int64_t> weight_of;
    std::map<std::string, std::int64_t> samples_of;
    std::set<std::string> categories;
    for (const PprofFile::Sample& sample : written(profile).samples) {
        const std::string& name = sample.texts.at("thread");
        EXPECT_EQ("worker-" + std::to_string(sample.numbers.at("tid") - 100), name);
        EXPECT_EQ(sample.numbers.at("pid"), 100);
        EXPECT_EQ(sample.texts.at("process"), "program");
        categories.insert(sample.texts.at("category"));
        samples_of[name] += sample.values.at(0);
        weight_of[name] += sample.values.at(1);
    }
    EXPECT_EQ(categories, (std::set<std::string>{"group-0", "group-1"}));
    for (const callgraph::ThreadTotals& thread : profile.threads) {
        EXPECT_EQ(weight_of[thread.name], static_cast<std::int64_t>(thread.total));
        EXPECT_EQ(samples_of[thread.name], static_cast<std::int64_t>(thread.samples));
    }
}

TEST(Pprof, an_inlined_function_shares_its_callers_location) {
    const PprofFile file = written(inlined_profile());
    ASSERT_EQ(file.samples.size(), 1U);
    const auto& stack = file.samples[0].locations;
    ASSERT_EQ(stack.size(), 2U) << "step in work, and main";
    const PprofFile::Location& leaf = file.locations.at(stack[0]);
    ASSERT_EQ(leaf.lines.size(), 2U);
    EXPECT_EQ(file.functions.at(leaf.lines[0].function).name, "step");
    EXPECT_EQ(leaf.lines[0].line, 9);
    EXPECT_EQ(file.functions.at(leaf.lines[1].function).name, "work");
    EXPECT_EQ(leaf.lines[1].line, 7);
    const PprofFile::Location& caller = file.locations.at(stack[1]);
    ASSERT_EQ(caller.lines.size(), 1U);
    EXPECT_EQ(file.functions.at(caller.lines[0].function).name, "main");
    EXPECT_EQ(caller.lines[0].line, 5);
}

TEST(Pprof, a_function_inlined_at_some_calls_stands_by_itself) {
    Profile profile = inlined_profile();
    profile.nodes[4].inlining = Inlining::some;
    EXPECT_EQ(written(profile).samples.at(0).locations.size(), 3U);
}

TEST(Pprof, functions_and_mappings_say_what_is_known) {
    Profile profile = inlined_profile();
    profile.functions[1].linkage_name = "_Z4workv";
    profile.functions[2].source = "app";  // The module: no source is known.
    profile.modules.push_back({"unused.so", "/lib/unused.so", ""});
    const PprofFile file = written(profile);
    EXPECT_EQ(file.functions.at(2).system_name, "_Z4workv");
    EXPECT_EQ(file.functions.at(2).filename, "/src/app.c");
    EXPECT_EQ(file.functions.at(2).start_line, 6);
    EXPECT_EQ(file.functions.at(3).filename, "");
    ASSERT_EQ(file.mappings.size(), 1U);
    EXPECT_EQ(file.mappings.at(1).filename, "/bin/app");
    EXPECT_EQ(file.mappings.at(1).build_id, "0123");
    EXPECT_TRUE(file.mappings.at(1).has_functions);
    for (const auto& [id, location] : file.locations) {
        EXPECT_EQ(location.mapping, 1U);
    }
}

TEST(Pprof, the_program_is_the_first_mapping) {
    const PprofFile file = written(random_profile(1));
    EXPECT_EQ(file.mappings.at(1).filename, "/opt/program");
}

TEST(Pprof, units_period_and_times) {
    Profile profile = random_profile(1);
    PprofFile file = written(profile);
    const PprofFile::Kind cpu{"cpu", "nanoseconds"};
    EXPECT_EQ(file.kinds, (std::vector<PprofFile::Kind>{{"samples", "count"}, cpu}));
    EXPECT_EQ(file.default_type, "cpu");
    EXPECT_EQ(file.period_type, cpu);
    EXPECT_EQ(file.period, 1'000'000);
    EXPECT_EQ(file.time_nanos, 1'700'000'000'000'000'000);
    EXPECT_EQ(file.duration_nanos, 5'000'000'000);

    profile.stats.clock = "wall";
    EXPECT_EQ(written(profile).default_type, "wall");

    profile.event = "syscalls:sys_enter_write";
    profile.metric.unit = "events";
    profile.stats.requested_hz = 0;
    profile.stats.period = 7;
    file = written(profile);
    EXPECT_EQ(file.kinds[1], (PprofFile::Kind{"syscalls:sys_enter_write", "events"}));
    EXPECT_EQ(file.period_type, file.kinds[1]);
    EXPECT_EQ(file.period, 7);
}

TEST(Pprof, comments_tell_the_command_and_the_truth) {
    Profile profile = random_profile(1);
    profile.stats.lost = 17;
    profile.stats.whole = false;
    const std::vector<std::string> comments = written(profile).comments;
    for (const char* const line :
         {"command: ./program --all", "source: sigtrap", "rate: 1,000 Hz requested",
          "samples lost: 17", "recording: cut off: its end is missing"}) {
        EXPECT_NE(std::find(comments.begin(), comments.end(), line), comments.end()) << line;
    }
}

TEST(Pprof, restricted_figures_say_so) {
    Profile profile = random_profile(1);
    profile.restriction = "from 1.000 s, to 1.500 s: 0.4 s of 5 s, 8.0 %";
    profile.chosen_ns = 500'000'000;
    const PprofFile file = written(profile);
    EXPECT_EQ(file.duration_nanos, 500'000'000);
    EXPECT_NE(std::find(file.comments.begin(), file.comments.end(), "only: " + profile.restriction),
              file.comments.end());
}

TEST(Pprof, scaled_figures_say_so) {
    const Profile profile = callgraph::average(random_profile(1), 25);
    EXPECT_EQ(profile.scale, 5);
    const PprofFile file = written(profile);
    EXPECT_EQ(figures_of(file), figures_of(profile));
    EXPECT_NE(
        std::find(file.comments.begin(), file.comments.end(),
                  "scale: \u00d75: durations are multiplied by this, to a span of time that the "
                  "session did not have"),
        file.comments.end());
}

TEST(Pprof, an_imported_profile_that_knows_nothing_but_its_stacks) {
    Profile profile = inlined_profile();
    profile.stats = {};
    profile.by_line = false;
    for (callgraph::Node& node : profile.nodes) {
        node.line = 0;
    }
    const PprofFile file = written(profile);
    EXPECT_EQ(file.default_type, "time") << "of which clock, nobody knows";
    EXPECT_EQ(file.period, 0);
    EXPECT_EQ(figures_of(file).at(1).total, 300);
    EXPECT_EQ(written(Profile{}).samples.size(), 0U);
}

TEST(Pprof, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    EXPECT_FALSE(write_pprof(random_profile(1), full).has_value());
}

}  // namespace
}  // namespace sample::exports
