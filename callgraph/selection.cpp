#include "callgraph/selection.h"

#include "callgraph/categories.h"
#include "core/text.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace sample::callgraph {

namespace {

/// What the names of one list are for. Each weight belongs to one of them.
struct Things {
    std::string_view option;
    std::string_view noun;
    const std::vector<std::string>& wanted;
    std::function<std::uint32_t(const StackWeight&)> of;
    /// What each is called; the first name is for people who ask for one that there is not.
    std::vector<std::vector<std::string>> names = {};
};

/// What is chosen from: a list for each metric.
struct Candidates {
    std::vector<std::span<const StackWeight>> lists;
    std::string_view kind;  ///< Of the things that they belong to, for errors.

    void for_each(const std::function<void(const StackWeight&)>& visit) const {
        for (const std::span<const StackWeight> list : lists) {
            std::for_each(list.begin(), list.end(), visit);
        }
    }
};

std::uint32_t process_of(const Recording& recording, ThreadId id) {
    const trace::Thread* const thread = recording.thread(id);
    return thread == nullptr || recording.process(thread->process) == nullptr
               ? 0
               : thread->process.value;
}

std::uint32_t leaf_module_of(const Recording& recording, NodeId node) {
    if (node.is_none()) {
        return 0;
    }
    const CodeAddress& place = recording.addresses()[recording.nodes()[node.value - 1].address];
    return recording.module_of(place) == nullptr ? 0 : place.module.value;
}

Things threads_of(const Recording& recording, const Candidates& candidates,
                  const Selection& selection) {
    Things things{"--thread", "thread", selection.threads,
                  [](const StackWeight& weight) { return weight.thread.value; }};
    things.names.push_back({trace::kUnknownCode});
    for (const trace::Thread& thread : recording.threads()) {
        things.names.push_back({thread.name, std::to_string(thread.tid)});
    }
    for (const std::span<const StackWeight> list : candidates.lists) {
        const Categories groups = categorize(recording, list, CategoryBy::thread);
        for (std::size_t i = 0; i < list.size(); ++i) {
            std::vector<std::string>& names = things.names[list[i].thread.value];
            names.resize(3);
            names.back() = groups.names[groups.of_weight[i]];
            names.front() = names.front().empty() ? names.back() : names.front();
        }
    }
    return things;
}

Things processes_of(const Recording& recording, const Selection& selection) {
    Things things{
        "--process", "process", selection.processes,
        [&recording](const StackWeight& weight) { return process_of(recording, weight.thread); }};
    things.names.push_back({trace::kUnknownCode});
    for (const RecordedProcess& process : recording.processes()) {
        const std::string& path = process.facts.executable;
        things.names.push_back({std::string{recording.name_of_file(path)},
                                std::string{file_name(path)}, path,
                                std::to_string(process.facts.pid)});
    }
    return things;
}

Things modules_of(const Recording& recording, const Selection& selection) {
    Things things{"--module", "module", selection.modules, [&recording](const StackWeight& weight) {
                      return leaf_module_of(recording, weight.node);
                  }};
    things.names.push_back({trace::kUnknownCode});
    for (const trace::Module& module : recording.modules()) {
        const bool is_jit = module.kind == trace::ModuleKind::jit;
        things.names.push_back({is_jit ? std::string{trace::kJitCode}
                                       : std::string{recording.name_of_file(module.path)},
                                std::string{file_name(module.path)}, module.path});
    }
    return things;
}

/// The names of what has weight, heaviest first.
std::string known_names(const Things& things, const std::vector<std::uint64_t>& weights) {
    constexpr std::size_t kMost = 10;
    std::vector<std::uint32_t> order(weights.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
        return weights[left] > weights[right];
    });
    std::vector<std::string_view> names;
    for (const std::uint32_t thing : order) {
        const std::string& name = things.names[thing].front();
        if (weights[thing] != 0 && std::find(names.begin(), names.end(), name) == names.end()) {
            names.push_back(name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
        text.append(i == 0 ? "" : ", ").append(names[i]);
    }
    return names.size() > kMost ? text + ", and " + grouped(names.size() - kMost) + " more" : text;
}

/// Which of the things are wanted: all, if no name was given.
Result<std::vector<bool>> wanted_of(const Candidates& all, const Things& things) {
    std::vector<bool> is_wanted(things.names.size(), things.wanted.empty());
    if (things.wanted.empty()) {
        return is_wanted;
    }
    std::vector<std::uint64_t> weights(things.names.size());
    all.for_each([&](const StackWeight& weight) {
        weights[things.of(weight)] += weight.sampled + weight.booked;
    });
    for (const std::string& wanted : things.wanted) {
        bool is_found = false;
        for (std::size_t thing = 0; thing < weights.size(); ++thing) {
            const std::vector<std::string>& names = things.names[thing];
            if (weights[thing] != 0 &&
                std::find(names.begin(), names.end(), wanted) != names.end()) {
                is_wanted[thing] = is_found = true;
            }
        }
        if (!is_found) {
            return unexpected(ErrorCode::not_found,
                              std::string{things.option} + ": no " + std::string{things.noun} +
                                  std::string{all.kind} + " is called '" + wanted +
                                  "': choose one of " + known_names(things, weights));
        }
    }
    return is_wanted;
}

}  // namespace

Result<Recording> select(Recording recording, const Selection& selection) {
    if (selection.is_everything()) {
        return recording;
    }
    Candidates all{{}, " with samples"};
    for (const trace::Metric& metric : recording.metrics()) {
        all.lists.push_back(recording.weights(metric.id));
    }
    const Things threads = threads_of(recording, all, selection);
    const Things processes = processes_of(recording, selection);
    const Things modules = modules_of(recording, selection);
    SAMPLE_TRY(thread, wanted_of(all, threads));
    SAMPLE_TRY(process, wanted_of(all, processes));
    SAMPLE_TRY(module, wanted_of(all, modules));
    const auto is_chosen = [&](const StackWeight& weight) -> bool {
        return thread[threads.of(weight)] && process[processes.of(weight)] &&
               module[modules.of(weight)];
    };
    bool has_any = false;
    all.for_each([&](const StackWeight& weight) { has_any = has_any || is_chosen(weight); });
    if (!has_any) {
        return unexpected(ErrorCode::not_found,
                          "no sample is of these threads, processes and modules at once: leave one "
                          "of --thread, --process and --module out");
    }
    recording.keep(is_chosen);
    return recording;
}

Result<std::vector<bool>> select_threads(const Recording& recording, const Selection& selection) {
    std::vector<StackWeight> one_of_each;
    for (const trace::Thread& thread : recording.threads()) {
        one_of_each.push_back({thread.id, {}, 1});
    }
    const Candidates all{{one_of_each}, ""};
    const Things processes = processes_of(recording, selection);
    SAMPLE_TRY(chosen, wanted_of(all, threads_of(recording, all, selection)));
    SAMPLE_TRY(process, wanted_of(all, processes));
    for (std::uint32_t id = 0; id < chosen.size(); ++id) {
        chosen[id] = chosen[id] && process[processes.of({ThreadId{id}, {}})];
    }
    return std::move(chosen);
}

}  // namespace sample::callgraph
