#include "sampler/collector/process/unprofiled_clocks.h"

#include "core/kernel_clock.h"
#include "core/text.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/tick_clock.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

namespace sample::collector {
namespace {

/// So much longer than a look took it is to the next one.
constexpr std::uint64_t kPauses = 50;

/// So many looks at one that is gone and has an agent, but neither joined nor ended.
constexpr int kPatience = 50;

/// Some 20 MB. Whoever comes beyond is in the sum of those that were not seen.
constexpr std::size_t kMostWatched = std::size_t{1} << 16U;

/// The kernel cuts a thread's name to this. Source: TASK_COMM_LEN, prctl(2) PR_SET_NAME.
constexpr std::size_t kMostOfName = 15;

/// Of those that were not seen.
constexpr const char* kUnseen = "ended unseen";

/// Abstract sockets are of one network namespace: neither can such a process tell why it does not
/// join. Source: unix(7).
constexpr const char* kInAnotherNetwork =
    "it is in another network namespace than the session, which its agent cannot join from there: "
    "start `sample` inside";

/// What the process was started as, of which the kernel has the beginning.
std::string whole_name(const std::string& name, const std::string& executable) {
    const std::string_view file = file_name(executable);
    return name.size() == kMostOfName && file.starts_with(name) ? std::string{file} : name;
}

}  // namespace

void UnprofiledClocks::watch(pid_t root) {
    root_ = newest_ = root;
    watched_[root].has_agent = true;
}

std::uint64_t UnprofiledClocks::greeted(pid_t pid, pid_t parent, std::uint64_t carried_ns) {
    if (root_ == 0) {
        return carried_ns;
    }
    const auto [at, is_new] = watched_.try_emplace(pid);
    Watched& process = at->second;
    if (is_new) {
        process.parent = parent;
    } else if (!process.has_agent && carried_ns > process.recorded_ns) {
        process.cpu_ns = carried_ns;
        record(pid, process, monotonic_ns());
    }
    process.has_agent = true;
    process.looks = 0;
    return std::max(carried_ns, process.recorded_ns);
}

void UnprofiledClocks::left(pid_t pid, std::uint64_t cpu_ns) {
    const auto at = watched_.find(pid);
    if (at == watched_.end()) {
        return;
    }
    const auto stat = stat_of(pid);
    if (!stat) {
        ended(pid, cpu_ns);
        return;
    }
    Watched& process = at->second;
    process.has_agent = false;
    process.name = stat->name;
    process.looks = 0;
    process.cpu_ns = process.recorded_ns = cpu_ns;
    process.start_ns = monotonic_ns();
}

void UnprofiledClocks::ended(pid_t pid, std::uint64_t cpu_ns) {
    if (pid == root_ || !watched_.contains(pid)) {
        return;
    }
    // Until it is waited for it is there to be met, as if it were new.
    find_new(monotonic_ns());
    Watched process = std::move(watched_.extract(pid).mapped());
    process.gone_ns += cpu_ns;
    leave_to_parent(pid, std::move(process));
}

void UnprofiledClocks::leave_to_parent(pid_t pid, Watched process) {
    parents_[pid] = process.parent;
    pid_t heir = process.parent;
    for (std::size_t steps = 0; !watched_.contains(heir); ++steps) {
        const auto next = parents_.find(heir);
        // An orphan's time may be in nobody's sum: better too little than too much.
        heir = next != parents_.end() && steps < parents_.size() ? next->second : root_;
    }
    Watched& parent = watched_[heir];
    parent.gone_ns += process.gone_ns;
    std::move(process.gone.begin(), process.gone.end(), std::back_inserter(parent.gone));
}

void UnprofiledClocks::forget(pid_t pid) {
    Watched process = std::move(watched_.extract(pid).mapped());
    Watched family;
    family.parent = process.parent;
    family.gone_ns = std::exchange(process.gone_ns, 0) + process.cpu_ns;
    family.gone = std::exchange(process.gone, {});
    if (!process.has_agent) {
        process.pid = pid;
        family.gone.push_back(std::move(process));
    }
    leave_to_parent(pid, std::move(family));
}

void UnprofiledClocks::look(std::uint64_t now_ns, const std::function<void()>& take_deaths) {
    if (root_ == 0 || now_ns < next_look_ns_) {
        return;
    }
    const std::uint64_t before = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    find_new(now_ns);
    for (auto& [pid, process] : watched_) {
        if (const auto sum = children_cpu_ns(pid)) {
            process.waited_for_ns = *sum;
        }
    }
    // Whose time is in those sums is gone now.
    take_deaths();
    std::vector<pid_t> gone;
    bool is_complete = true;
    for (auto& [pid, process] : watched_) {
        const bool is_gone = !has_process_clock(pid) && pid != root_;
        if (is_gone && process.has_agent) {
            ++process.looks;
            is_complete = is_complete && process.looks > kPatience;
        } else if (!is_gone && !process.has_agent) {
            look_at(pid, process, now_ns);
        }
        if (is_gone && (!process.has_agent || process.looks > kPatience)) {
            gone.push_back(pid);
        }
    }
    for (const pid_t pid : gone) {
        forget(pid);
    }
    if (is_complete) {
        settle(now_ns);
    }
    next_look_ns_ = now_ns + (read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) * kPauses;
}

void UnprofiledClocks::settle(std::uint64_t now_ns) {
    const std::uint64_t most = (now_ns - settled_ns_) * std::thread::hardware_concurrency();
    for (auto& [parent_pid, parent] : watched_) {
        std::uint64_t left = parent.waited_for_ns - std::min(parent.waited_for_ns, parent.gone_ns);
        for (std::size_t i = 0; i < parent.gone.size(); ++i) {
            Watched& process = parent.gone[i];
            const std::uint64_t rest = std::min(left / (parent.gone.size() - i), most);
            left -= rest;
            parent.gone_ns += rest;
            process.cpu_ns += rest;
            record(process.pid, process, now_ns);
        }
        parent.gone.clear();
    }
    settled_ns_ = now_ns;
    parents_.clear();
}

/// Numbers are given in turn, so that these few are all that came since, children behind their
/// parents. Asking for a clock costs a tenth of a microsecond, and is no look at /proc.
void UnprofiledClocks::find_new(std::uint64_t now_ns) {
    const pid_t newest = newest_pid();
    const pid_t most = newest < newest_ ? most_pid() : newest;
    for (pid_t pid = newest_ + 1; pid <= most; ++pid) {
        meet(pid, now_ns);
    }
    for (pid_t pid = 1; newest < newest_ && pid <= newest; ++pid) {
        meet(pid, now_ns);
    }
    newest_ = newest;
}

void UnprofiledClocks::meet(pid_t pid, std::uint64_t now_ns) {
    if (!has_process_clock(pid) || watched_.contains(pid) || watched_.size() >= kMostWatched) {
        return;
    }
    const auto stat = stat_of(pid);
    if (stat && watched_.contains(stat->parent)) {
        Watched& process = watched_[pid];
        process.parent = stat->parent;
        process.name = stat->name;
        process.start_ns = now_ns;
    }
}

void UnprofiledClocks::look_at(pid_t pid, Watched& process, std::uint64_t now_ns) {
    const auto stat = stat_of(pid);
    if (stat && (stat->name != process.name || process.looks == 0)) {
        // One that was seen once only may have been a copy of its parent, about to exec.
        if (process.looks > 1) {
            record(pid, process, now_ns);
            process.start_ns = now_ns;
        }
        process.name = stat->name;
        std::string file = executable_of(pid);
        if (!file.empty() && files_.size() < kMostWatched) {
            files_[process.name] = std::move(file);
        }
        process.command_line = command_line_of(pid);
        process.is_in_another_network = is_in_another_network(pid);
        process.looks = 0;
    }
    ++process.looks;
    process.cpu_ns = process_cpu_ns(pid).value_or(process.cpu_ns);
}

void UnprofiledClocks::record(pid_t pid, Watched& image, std::uint64_t now_ns) {
    trace::Process process;
    process.pid = static_cast<std::uint32_t>(pid);
    process.parent_pid = static_cast<std::uint32_t>(image.parent);
    process.start_ns = image.start_ns;
    const auto file = files_.find(image.name);
    process.executable = file != files_.end() ? file->second : image.name;
    process.command_line = image.command_line;
    const std::string name = whole_name(image.name, process.executable);
    std::uint64_t counted_ns = image.cpu_ns;
    if (stopped_) {
        counted_ns = std::min(image.cpu_ns, std::max(image.stopped_cpu_ns, image.recorded_ns));
        recorder_.add_earlier(image.cpu_ns - counted_ns);
    }
    if (image.is_in_another_network && recorder_.has_begun() &&
        !std::exchange(image.is_told_of, true)) {
        recorder_.sink().record(trace::UnprofiledProgram{process.pid, process.parent_pid,
                                                         process.start_ns, process.executable,
                                                         kInAnotherNetwork});
    }
    record(std::move(process), name, counted_ns - image.recorded_ns, now_ns);
    image.recorded_ns = image.cpu_ns;
}

void UnprofiledClocks::record(trace::Process process, const std::string& name, std::uint64_t cpu_ns,
                              std::uint64_t now_ns) {
    if (!recorder_.has_begun_sampling()) {
        recorder_.add_earlier(cpu_ns);
        return;
    }
    if (cpu_ns == 0 || !recorder_.has_begun()) {
        return;
    }
    process.source = trace::kNoSource;
    const auto pid = static_cast<pid_t>(process.pid);
    const std::uint32_t tid = process.pid;
    const std::uint64_t start_ns = process.start_ns;
    trace::ProcessEnd end;
    end.id = recorder_.add_process(std::move(process));
    const ThreadId thread = recorder_.add_thread({ThreadId{}, end.id, tid, start_ns, name});
    trace::Module module;
    module.kind = trace::ModuleKind::pseudo;
    module.path = trace::kNotProfiled + name + "]";
    const NodeId node = recorder_.node(NodeId{}, recorder_.module(module), 0);
    recorder_.sink().sample({thread, now_ns, node, cpu_ns, true});
    const ProcessFate fate = fate_of(pid, -1);
    end.kind = fate.kind;
    end.code = fate.code;
    end.end_ns = recorder_.not_before_start(now_ns);
    end.cpu_ns = cpu_ns;
    recorder_.sink().record(end);
}

void UnprofiledClocks::begin_sampling() {
    if (root_ == 0) {
        return;
    }
    next_look_ns_ = 0;
    look(monotonic_ns(), [] {});
    for (auto& [pid, process] : watched_) {
        recorder_.add_earlier(process.cpu_ns - process.recorded_ns);
        process.recorded_ns = process.cpu_ns;
        process.gone_ns = std::max(process.gone_ns, process.waited_for_ns);
    }
}

void UnprofiledClocks::stop_counting() {
    if (root_ == 0) {
        return;
    }
    next_look_ns_ = 0;
    look(monotonic_ns(), [] {});
    for (auto& [pid, process] : watched_) {
        process.stopped_cpu_ns = process.cpu_ns;
        process.stopped_rest_ns =
            process.waited_for_ns - std::min(process.waited_for_ns, process.gone_ns);
    }
    stopped_ = true;
}

void UnprofiledClocks::go_on_counting() {
    if (root_ == 0 || !stopped_) {
        return;
    }
    next_look_ns_ = 0;
    look(monotonic_ns(), [] {});
    stopped_ = false;
    for (auto& [pid, process] : watched_) {
        if (!process.has_agent) {
            const std::uint64_t counted = std::max(process.stopped_cpu_ns, process.recorded_ns);
            const std::uint64_t left_out = process.cpu_ns - std::min(process.cpu_ns, counted);
            recorder_.add_earlier(left_out);
            process.recorded_ns += left_out;
        }
        const std::uint64_t rest = std::min(process.stopped_rest_ns, process.waited_for_ns);
        process.gone_ns = std::max(process.gone_ns, process.waited_for_ns - rest);
        process.stopped_cpu_ns = process.stopped_rest_ns = 0;
    }
}

void UnprofiledClocks::finish() {
    if (root_ == 0) {
        return;
    }
    const std::uint64_t now = monotonic_ns();
    next_look_ns_ = 0;
    look(now, [] {});
    settle(now);
    for (auto& [pid, process] : watched_) {
        if (!process.has_agent) {
            record(pid, process, now);
        }
    }
    const Watched& root = watched_[root_];
    trace::Process unseen;
    unseen.parent_pid = static_cast<std::uint32_t>(root_);
    unseen.start_ns = now;
    unseen.executable = kUnseen;
    std::uint64_t rest = root.waited_for_ns - std::min(root.waited_for_ns, root.gone_ns);
    if (stopped_) {
        rest = std::min(rest, root.stopped_rest_ns);
    }
    record(std::move(unseen), kUnseen, rest, now);
}

}  // namespace sample::collector
