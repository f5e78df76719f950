#include "import/profile_maker.h"

#include "callgraph/categories.h"
#include "core/text.h"
#include "symbolize/names/demangle.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace sample::imports {

namespace {

using callgraph::hash_pair;
using callgraph::Profile;
using callgraph::SampleSeries;
using callgraph::TimedWeight;

constexpr std::string_view kTooMuch = "the sum of all weights needs more than 64 bits";

std::uint64_t hash_of(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

}  // namespace

std::uint64_t FunctionKey::hash() const {
    return hash_pair(hash_pair(hash_of(name), hash_of(source)),
                     (std::uint64_t{module} << 32) ^ (std::uint64_t{flags} << 28) ^
                         (std::uint64_t{column} << 16) ^ line);
}

std::uint64_t ThreadKey::hash() const {
    return hash_pair((std::uint64_t{pid} << 32) | tid, hash_of(name) + number);
}

ProfileMaker::ProfileMaker(const Options& options) : options_{options} {
    profile_.by_line = options.lines;
}

void ProfileMaker::note_count(std::uint64_t count, const std::string& what) {
    if (count != 0) {
        profile_.stats.notes.push_back(std::to_string(count) + " " + what);
    }
}

std::string_view ProfileMaker::keep(std::string_view text) {
    return text.empty() ? std::string_view{} : kept_.emplace_back(text);
}

FunctionId ProfileMaker::function(const FunctionKey& key) {
    const std::uint32_t index = functions_.intern(key);
    if (index == profile_.functions.size()) {
        FunctionKey& kept = functions_[index];
        kept.name = keep(key.name);
        kept.source = keep(key.source);
        kept.linkage_name = keep(key.linkage_name);
        callgraph::Function& function = profile_.functions.emplace_back();
        function.name = key.name;
        function.source = key.source;
        function.linkage_name = key.linkage_name;
        if (key.name.starts_with('_') && (key.flags & callgraph::kNative) == 0) {
            function.name = symbolize::demangle(key.name);
            if (function.linkage_name.empty() && function.name != key.name) {
                function.linkage_name = key.name;
            }
        }
        function.line = key.line;
        function.module = key.module;
        function.flags = key.flags;
    }
    return FunctionId{index + 1};
}

std::uint32_t ProfileMaker::module(std::string_view path, std::string_view build_id) {
    if (path.empty()) {
        return 0;
    }
    const auto found = modules_.find(path);
    if (found != modules_.end()) {
        return found->second;
    }
    const auto index = static_cast<std::uint32_t>(profile_.modules.size());
    modules_.emplace(keep(path), index);
    profile_.modules.push_back(
        {std::string{file_name(path)}, std::string{path}, std::string{build_id}});
    return index;
}

std::uint32_t ProfileMaker::thread(const ThreadKey& key) {
    const std::uint32_t index = threads_.intern(key);
    if (index == thread_states_.size()) {
        ThreadKey& kept = threads_[index];
        kept.name = keep(key.name);
        kept.process = keep(key.process);
        thread_states_.emplace_back();
        callgraph::ThreadTotals& totals = profile_.threads.emplace_back();
        totals.name = key.name;
        totals.process = key.process;
        totals.pid = key.pid;
        totals.tid = key.tid;
    }
    return index;
}

ProfileMaker::Place ProfileMaker::category(std::string_view name) {
    const auto found = categories_.find(name);
    if (found != categories_.end()) {
        return found->second;
    }
    const Place place = tree_.add_category(std::string{name});
    categories_.emplace(kept_.emplace_back(name), place);
    return place;
}

ProfileMaker::Place ProfileMaker::category_of_thread(std::uint32_t thread) {
    ThreadState& state = thread_states_[thread];
    if (!state.category) {
        const callgraph::ThreadTotals& totals = profile_.threads[thread];
        std::string name = totals.name.empty() ? totals.process : totals.name;
        name = name.empty() ? kUnknown : name;
        const auto [found, is_new] =
            groups_.try_emplace({totals.process, std::string{callgraph::stem_of(name)}});
        Group& group = found->second;
        if (is_new) {
            group = {tree_.add_category(name), name, false};
        }
        group.has_more_names = group.has_more_names || group.first_name != name;
        state.category = group.place;
    }
    return *state.category;
}

ProfileMaker::Place ProfileMaker::child(Place parent, FunctionId function,
                                        callgraph::CallSite site) {
    if (!problem_.empty()) {
        return parent;
    }
    if (!options_.lines) {
        site.line = 0;
    }
    const Place place = tree_.child(parent, function, site);
    if (place >= options_.max_nodes) {
        problem_ = "more than " + std::to_string(options_.max_nodes) +
                   " different stacks and parts of stacks";
    }
    return place;
}

void ProfileMaker::add(Place place, std::uint64_t weight, std::uint64_t samples) {
    if (__builtin_add_overflow(total_, weight, &total_) ||
        __builtin_add_overflow(samples_, samples, &samples_)) {
        problem_ = kTooMuch;
    }
    if (problem_.empty()) {
        tree_.add_self(place, weight, samples);
        ++untimed_;
    }
}

void ProfileMaker::add_further(std::size_t metric, Place place, std::uint64_t weight) {
    further_totals_.resize(profile_.further.size());
    if (__builtin_add_overflow(further_totals_[metric], weight, &further_totals_[metric])) {
        problem_ = kTooMuch;
    }
    if (problem_.empty()) {
        tree_.add_further(metric, place, weight);
    }
}

void ProfileMaker::add(Place place, std::uint64_t weight, std::uint64_t samples,
                       std::uint32_t thread, std::optional<std::int64_t> time_ns) {
    add(place, weight, samples);
    if (!problem_.empty()) {
        return;
    }
    profile_.threads[thread].total += weight;
    profile_.threads[thread].samples += samples;
    if (time_ns) {
        constexpr std::uint64_t kMostWeight = std::uint64_t{1} << 62;
        const std::uint64_t length = profile_.is_time() ? std::min(weight, kMostWeight) : 0;
        const std::int64_t begin = *time_ns - static_cast<std::int64_t>(length);
        first_ns_ = std::min(first_ns_.value_or(begin), begin);
        last_ns_ = std::max(last_ns_.value_or(*time_ns), *time_ns);
        --untimed_;
        if (options_.times) {
            note_time(thread_states_[thread], {*time_ns, place, weight, samples == 0});
        }
    }
}

void ProfileMaker::note_time(ThreadState& thread, const TimedWeight& sample) {
    if (!thread.samples) {
        thread.samples = std::make_shared<SampleSeries>();
    }
    thread.is_sorted = thread.is_sorted && (thread.samples->is_empty() ||
                                            sample.time_ns >= thread.samples->last_time_ns());
    thread.samples->append(sample);
}

namespace {

/// The series by time, counted from `start_ns`. Only one that is not sorted takes more memory.
std::shared_ptr<SampleSeries> by_time(const SampleSeries& series, bool is_sorted,
                                      std::int64_t start_ns) {
    auto result = std::make_shared<SampleSeries>();
    std::vector<TimedWeight> all;
    TimedWeight sample;
    for (auto reader = series.read(); reader.next(sample);) {
        sample.time_ns -= start_ns;
        if (is_sorted) {
            result->append(sample);
        } else {
            all.push_back(sample);
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const TimedWeight& left, const TimedWeight& right) {
        return left.time_ns < right.time_ns;
    });
    for (const TimedWeight& each : all) {
        result->append(each);
    }
    return result;
}

}  // namespace

void ProfileMaker::make_timeline(std::vector<NodeId> node_of_place, std::int64_t start_ns) {
    callgraph::Timeline timeline;
    for (std::uint32_t i = 0; i < thread_states_.size(); ++i) {
        auto& [category, samples, is_sorted] = thread_states_[i];
        if (!samples) {
            continue;
        }
        if (!is_sorted || start_ns != 0) {
            samples = by_time(*samples, is_sorted, start_ns);
        }
        timeline.threads.push_back({i, std::move(samples)});
    }
    if (!timeline.threads.empty() && untimed_ != 0) {
        profile_.stats.notes.push_back("times were left out: " + std::to_string(untimed_) +
                                       " samples have none");
    } else if (!timeline.threads.empty()) {
        timeline.nodes = std::move(node_of_place);
        profile_.timeline = std::move(timeline);
    }
}

void ProfileMaker::name_columns() {
    constexpr std::uint32_t kSeveral = 0xffffffff;
    const auto place = [](const FunctionKey& key) {
        return std::tuple{key.name, key.source, key.line};
    };
    std::map<std::tuple<std::string_view, std::string_view, std::uint32_t>, std::uint32_t> columns;
    for (const FunctionKey& key : functions_.entries()) {
        std::uint32_t& column = columns.try_emplace(place(key), key.column).first->second;
        column = column == key.column ? column : kSeveral;
    }
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
        const FunctionKey& key = functions_[i];
        if (key.column != 0 && columns[place(key)] == kSeveral) {
            profile_.functions[i].name += " (column " + std::to_string(key.column) + ")";
        }
    }
}

void ProfileMaker::name_groups(const std::vector<NodeId>& node_of_place) {
    std::set<std::string_view> processes;
    for (const auto& [key, group] : groups_) {
        processes.insert(key.first);
    }
    std::map<NodeId, std::string> names;
    for (const auto& [key, group] : groups_) {
        const auto& [process, stem] = key;
        const std::string& name = group.has_more_names ? stem : group.first_name;
        const bool says_process = processes.size() > 1 && !process.empty() && process != name;
        std::string& shown = names[node_of_place[group.place]];
        if (says_process) {
            shown.append(process).append(": ");
        }
        shown += name;
    }
    for (callgraph::Category& category : profile_.categories) {
        const auto found = names.find(category.node);
        if (found != names.end()) {
            category.name = found->second;
        }
    }
}

void ProfileMaker::name_processes() {
    std::unordered_map<std::uint32_t, std::string> name_of_pid;
    for (const callgraph::ThreadTotals& thread : profile_.threads) {
        if (thread.pid != 0 && thread.pid == thread.tid) {
            name_of_pid[thread.pid] = thread.name;
        }
    }
    for (callgraph::ThreadTotals& thread : profile_.threads) {
        const auto found = name_of_pid.find(thread.pid);
        if (thread.process.empty() && found != name_of_pid.end()) {
            thread.process = found->second;
        }
    }
}

void ProfileMaker::fill_stats(std::int64_t start_ns) {
    callgraph::Stats& stats = profile_.stats;
    stats.sampled = total_;
    stats.samples = samples_;
    stats.counts_samples = samples_ != 0 || total_ == 0;
    stats.threads = static_cast<std::uint32_t>(profile_.threads.size());
    std::set<std::uint32_t> pids;
    for (const callgraph::ThreadTotals& thread : profile_.threads) {
        if (thread.pid != 0) {
            pids.insert(thread.pid);
        }
    }
    stats.processes = static_cast<std::uint32_t>(pids.size());
    if (stats.wall_ns == 0 && last_ns_) {
        stats.wall_ns = static_cast<std::uint64_t>(std::max(*last_ns_ - start_ns, std::int64_t{0}));
    }
}

Profile ProfileMaker::finish(bool from_first) && {
    const std::int64_t start_ns = from_first ? first_ns_.value_or(0) : 0;
    name_columns();
    std::vector<NodeId> node_of_place = std::move(tree_).finish(profile_);
    name_groups(node_of_place);
    make_timeline(std::move(node_of_place), start_ns);
    name_processes();
    fill_stats(start_ns);
    return std::move(profile_);
}

}  // namespace sample::imports
