#include "callgraph/categories.h"

#include "core/text.h"

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace sample::callgraph {

namespace {

constexpr std::string_view kUnknown = "[unknown]";

std::string thread_name(const trace::Thread& thread, std::string_view program) {
    program = program.substr(0, kMaxThreadName);
    return thread.name.empty() ? std::string{program.empty() ? kUnknown : program} : thread.name;
}

/// The names of thread groups, executables told apart.
class ThreadGroups {
public:
    ThreadGroups(const Recording& recording, std::span<const StackWeight> weights);

    [[nodiscard]] const std::string& of(ThreadId thread) const { return of_thread_[thread.value]; }

private:
    struct Member {
        std::string executable;
        std::string program;  ///< What people call that.
        std::string name;
    };

    static Member member(const Recording& recording, const trace::Thread& thread);
    [[nodiscard]] std::string label(const Member& member) const;

    std::map<std::pair<std::string, std::string>, std::set<std::string>> names_of_stem_;
    std::map<std::string, std::set<std::string>, std::less<>> paths_of_program_;
    std::set<std::string> executables_;
    std::vector<std::string> of_thread_;  ///< [0] is for weights of no known thread.
};

ThreadGroups::ThreadGroups(const Recording& recording, std::span<const StackWeight> weights) {
    std::vector<bool> is_used(recording.threads().size() + 1);
    for (const StackWeight& weight : weights) {
        is_used[weight.thread.value] = true;
    }
    std::vector<Member> members{{std::string{}, std::string{}, std::string{kUnknown}}};
    for (const trace::Thread& thread : recording.threads()) {
        members.push_back(member(recording, thread));
        const Member& added = members.back();
        names_of_stem_[{added.executable, std::string{stem_of(added.name)}}].insert(added.name);
        if (is_used[members.size() - 1]) {
            executables_.insert(added.executable);
            paths_of_program_[added.program].insert(added.executable);
        }
    }
    for (const Member& each : members) {
        of_thread_.push_back(label(each));
    }
}

ThreadGroups::Member ThreadGroups::member(const Recording& recording, const trace::Thread& thread) {
    const RecordedProcess* process = recording.process(thread.process);
    if (process == nullptr) {
        return {std::string{}, std::string{}, thread_name(thread, {})};
    }
    const std::string& executable = process->facts.executable;
    const std::string program{recording.name_of_file(executable)};
    std::string name = thread_name(thread, program);
    const bool is_main = thread.tid == process->facts.pid;
    if (is_main && name == program.substr(0, kMaxThreadName)) {
        name = "main";
    }
    return {executable, program, std::move(name)};
}

std::string ThreadGroups::label(const Member& member) const {
    std::string name = member.name;
    const std::string stem{stem_of(name)};
    const auto group = names_of_stem_.find({member.executable, stem});
    if (group != names_of_stem_.end() && group->second.size() > 1) {
        name = stem;
    }
    if (executables_.size() < 2 || member.executable.empty()) {
        return name;
    }
    const auto paths = paths_of_program_.find(member.program);
    const bool is_one_path = paths == paths_of_program_.end() || paths->second.size() < 2;
    return (is_one_path ? member.program : member.executable) + ": " + name;
}

std::string process_label(const Recording& recording, ThreadId id) {
    const trace::Thread* thread = recording.thread(id);
    const RecordedProcess* process =
        thread == nullptr ? nullptr : recording.process(thread->process);
    if (process == nullptr) {
        return std::string{kUnknown};
    }
    std::string label{recording.name_of_file(process->facts.executable)};
    return label.append(" (").append(std::to_string(process->facts.pid)).append(")");
}

std::vector<std::string> labels_of_processes(const Recording& recording) {
    std::vector<std::string> labels;
    for (std::uint32_t id = 0; id <= recording.threads().size(); ++id) {
        labels.push_back(process_label(recording, ThreadId{id}));
    }
    return labels;
}

std::string leaf_module(const Recording& recording, NodeId node) {
    if (node.is_none()) {
        return std::string{kUnknown};
    }
    const StackFrame& frame = recording.nodes()[node.value - 1];
    const trace::Module* module = recording.module_of(recording.addresses()[frame.address]);
    if (module != nullptr && module->kind == trace::ModuleKind::jit) {
        return trace::kJitCode;
    }
    return module == nullptr ? std::string{kUnknown}
                             : std::string{recording.name_of_file(module->path)};
}

}  // namespace

Categories categorize(const Recording& recording, std::span<const StackWeight> weights,
                      CategoryBy by) {
    Categories result;
    std::unordered_map<std::string, std::uint32_t> index_of_name;
    const auto index_of = [&](const std::string& name) {
        const auto [found, is_new] =
            index_of_name.try_emplace(name, static_cast<std::uint32_t>(result.names.size()));
        if (is_new) {
            result.names.push_back(name);
        }
        return found->second;
    };
    result.of_weight.reserve(weights.size());
    if (by == CategoryBy::label) {
        for (const StackWeight& weight : weights) {
            result.of_weight.push_back(index_of(recording.labels().labels[weight.label].category));
        }
        return result;
    }
    if (by == CategoryBy::module) {
        for (const StackWeight& weight : weights) {
            result.of_weight.push_back(index_of(leaf_module(recording, weight.node)));
        }
        return result;
    }
    const ThreadGroups groups{recording, weights};
    const auto processes =
        by == CategoryBy::process ? labels_of_processes(recording) : std::vector<std::string>{};
    for (const StackWeight& weight : weights) {
        result.of_weight.push_back(index_of(
            by == CategoryBy::thread ? groups.of(weight.thread) : processes[weight.thread.value]));
    }
    return result;
}

std::string_view stem_of(std::string_view thread_name) {
    constexpr std::string_view kDigits = "0123456789";
    constexpr std::string_view kBeforeNumber = "-_ .:/#[(";
    constexpr std::string_view kAfterNumber = "])";
    std::string_view stem = thread_name;
    stem = stem.substr(0, stem.find_last_not_of(kAfterNumber) + 1);
    const std::size_t number = stem.find_last_not_of(kDigits) + 1;
    if (number == stem.size()) {
        return thread_name;
    }
    stem = stem.substr(0, number);
    stem = stem.substr(0, stem.find_last_not_of(kBeforeNumber) + 1);
    return stem.empty() ? thread_name : stem;
}

}  // namespace sample::callgraph
