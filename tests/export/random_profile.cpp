#include "random_profile.h"

#include "callgraph/transforms.h"
#include "callgraph/tree.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::CallSite;
using callgraph::Inlining;
using callgraph::Profile;
using callgraph::TreeBuilder;

constexpr std::uint32_t kFunctions = 12;
constexpr std::uint32_t kThreads = 4;
constexpr std::uint32_t kCategories = 2;
const std::array<callgraph::Metric, 3> metrics_of_all{
    {{"cpu", "", ""}, {"allocated", "bytes", "asked of malloc"}, {"wall", "", ""}}};

class Maker {
public:
    explicit Maker(std::uint32_t seed) : random_{seed} {}

    Profile make() {
        add_program();
        callgraph::Timeline timeline;
        for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
            timeline.threads.push_back({thread, sample_thread(thread, add_to_own(thread))});
        }
        const std::vector<NodeId> became = std::move(tree_).finish(profile_);
        profile_.timeline = placed(std::move(timeline), became);
        return std::move(profile_);
    }

    /// Of metrics_of_all[own]; those behind it are further metrics of the profile, if `is_all`.
    Profile make_metric(std::size_t own, bool is_all) {
        add_program();
        profile_.memory = FunctionId{6};
        profile_.metric = metrics_of_all.at(own);
        std::vector<callgraph::Timeline> timelines(metrics_of_all.size());
        for (std::size_t metric = 0; metric < metrics_of_all.size(); ++metric) {
            if (is_all && metric > own) {
                profile_.further.push_back({metrics_of_all.at(metric), {}, {}});
            }
            for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
                if (thread == metric) {
                    continue;
                }
                const auto add = [&](const callgraph::TimedWeight& sample) {
                    if (metric == own) {
                        add_to_own(thread)(sample);
                    } else if (is_all) {
                        tree_.add_further(metric - own - 1, places_[sample.place], sample.weight);
                    }
                };
                auto series = sample_thread(thread, add, metric);
                timelines[metric].threads.push_back({thread, std::move(series)});
            }
        }
        const std::vector<NodeId> became = std::move(tree_).finish(profile_);
        profile_.timeline = placed(std::move(timelines[own]), became);
        for (std::size_t i = 0; i < profile_.further.size(); ++i) {
            profile_.further[i].timeline = placed(std::move(timelines[own + 1 + i]), became);
        }
        return std::move(profile_);
    }

private:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }

    void add_program() {
        constexpr std::uint32_t kStacks = 200;
        add_facts();
        for (std::uint32_t i = 0; i < kStacks; ++i) {
            add_stack();
        }
    }

    callgraph::Timeline placed(callgraph::Timeline timeline, const std::vector<NodeId>& became) {
        for (const TreeBuilder::Index place : places_) {
            timeline.nodes.push_back(became[place]);
        }
        return timeline;
    }

    void add_facts() {
        profile_.by_line = true;
        profile_.command_line = "./program --all";
        profile_.start_unix_ms = 1'700'000'000'000;
        profile_.stats.clock = "cpu";
        profile_.stats.source = "sigtrap";
        profile_.stats.requested_hz = 1000;
        profile_.stats.wall_ns = 5'000'000'000;
        profile_.modules.push_back({"libc.so.6", "/lib/libc.so.6", "aa11"});
        profile_.modules.push_back({"program", "/opt/program", "bb22"});
        for (std::uint32_t i = 0; i < kFunctions; ++i) {
            callgraph::Function& function = profile_.functions.emplace_back();
            function.name = "function" + std::to_string(i / 2);  // Each name twice.
            function.source = i % 3 == 0 ? "/src/a.cpp" : "program";
            function.line = i % 3 == 0 ? 10 + i : 0;
            function.module = i % 5 == 0 ? 0 : 2;
            function.flags = i % 4;
        }
        profile_.functions[1].name = "bad \xff name\n";
        profile_.functions[2].name.clear();
        profile_.functions[3].linkage_name = "_Z9function1v";
        callgraph::ProcessTotals& process = profile_.processes.emplace_back();
        process.executable = "/opt/program";
        process.pid = 100;
        for (std::uint32_t i = 0; i < kThreads; ++i) {
            callgraph::ThreadTotals& thread = profile_.threads.emplace_back();
            thread.name = "worker-" + std::to_string(i);
            thread.process = "program";
            thread.pid = 100;
            thread.tid = 100 + i;
        }
        for (std::uint32_t i = 0; i < kCategories; ++i) {
            categories_.push_back(tree_.add_category("group-" + std::to_string(i)));
        }
    }

    void add_stack() {
        constexpr std::uint32_t kDeepest = 14;
        constexpr std::uint32_t kLines = 4;
        TreeBuilder::Index node = categories_[below(kCategories)];
        const std::uint32_t depth = below(kDeepest);
        std::uint32_t line = 0;
        for (std::uint32_t i = 0; i < depth; ++i) {
            const FunctionId function{1 + below(kFunctions)};
            const std::uint32_t next = below(kLines);
            const auto inlining = below(3) == 0 ? Inlining::all : Inlining::none;
            node = tree_.child(node, function, CallSite{next, line, inlining});
            line = next;
        }
        places_.push_back(node);
    }

    /// Samples in some of the stacks: each third one, from `first`, is left out. None: in all.
    std::shared_ptr<const callgraph::SampleSeries> sample_thread(
        std::uint32_t thread, const std::function<void(const callgraph::TimedWeight&)>& add,
        std::optional<std::size_t> first = {}) {
        constexpr std::uint32_t kSamples = 300;
        constexpr std::uint64_t kMost = 3'000'000;
        constexpr std::uint32_t kOneInBooked = 7;
        auto series = std::make_shared<callgraph::SampleSeries>();
        std::int64_t now = 0;
        for (std::uint32_t i = 0; i < kSamples; ++i) {
            const auto place = below(static_cast<std::uint32_t>(places_.size()));
            const std::uint64_t weight = random_() % kMost;
            const bool is_booking = below(kOneInBooked) == 0;
            if (first && (place + thread) % 3 == *first % 3) {
                continue;
            }
            now += static_cast<std::int64_t>(weight);
            series->append({now, place, weight, is_booking});
            add({now, place, weight, is_booking});
        }
        return series;
    }

    std::function<void(const callgraph::TimedWeight&)> add_to_own(std::uint32_t thread) {
        return [this, thread](const callgraph::TimedWeight& sample) {
            const std::uint64_t samples = sample.is_booking ? 0 : 1;
            tree_.add_self(places_[sample.place], sample.weight, samples);
            profile_.threads[thread].total += sample.weight;
            profile_.threads[thread].samples += samples;
            profile_.stats.samples += samples;
        };
    }

    std::mt19937_64 random_;
    Profile profile_;
    TreeBuilder tree_;
    std::vector<TreeBuilder::Index> categories_;
    std::vector<TreeBuilder::Index> places_;
};

}  // namespace

Profile random_profile(std::uint32_t seed) {
    return Maker{seed}.make();
}

std::vector<SeveralMetrics> random_metrics(std::uint32_t seed) {
    using Transform = std::pair<const char*, Profile (*)(Profile)>;
    constexpr double kTwiceTheSession = 10;
    static const std::vector<Transform> transforms{
        {"as it is", [](Profile profile) { return profile; }},
        {"hide_memory", callgraph::hide_memory},
        {"hide_plugins", callgraph::hide_plugins},
        {"fold_inlined", callgraph::fold_inlined},
        {"focus", [](Profile each) { return callgraph::focus(std::move(each), "function2"); }},
        {"search", [](Profile each) { return callgraph::search(std::move(each), "function3"); }},
        {"average",
         [](Profile each) { return callgraph::average(std::move(each), kTwiceTheSession); }},
        {"rename",
         [](Profile each) {
             return callgraph::rename(std::move(each), [](const callgraph::Function& function) {
                 return "f" + std::to_string(function.line % 2);
             });
         }},
    };
    std::vector<SeveralMetrics> made;
    for (const auto& [name, transform] : transforms) {
        SeveralMetrics& each = made.emplace_back(
            SeveralMetrics{name, transform(Maker{seed}.make_metric(0, true)), {}});
        for (std::size_t metric = 0; metric < metrics_of_all.size(); ++metric) {
            each.alone.push_back(transform(Maker{seed}.make_metric(metric, false)));
        }
    }
    return made;
}

FunctionTotals function_totals(const Profile& profile) {
    std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> totals;
    for (std::size_t i = 0; i < profile.functions.size(); ++i) {
        totals[i] = {static_cast<std::int64_t>(profile.functions[i].total),
                     static_cast<std::int64_t>(profile.functions[i].self)};
    }
    return function_totals(profile, totals);
}

FunctionTotals function_totals(
    const Profile& profile,
    const std::map<std::size_t, std::pair<std::int64_t, std::int64_t>>& found) {
    FunctionTotals totals;
    for (const auto& [index, sums] : found) {
        if (index >= profile.functions.size() || sums.first == 0) {
            continue;
        }
        const callgraph::Function& function = profile.functions[index];
        totals[function.name + "|" + function.source + "|" + std::to_string(function.line) + "|" +
               std::to_string(function.flags) + "|" + std::to_string(function.module)] = sums;
    }
    return totals;
}

}  // namespace sample::exports
