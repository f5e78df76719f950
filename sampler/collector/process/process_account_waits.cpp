// What a process's threads waited for, from what its sampling thread has seen: the wall clock's
// part of ProcessAccount.
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/process_account.h"

#include <algorithm>

namespace sample::collector {
namespace {

/// A thread that has said its end may be seen this much longer, on its way out. The kernel does not
/// give its id to another one so soon.
constexpr std::uint64_t kLastWordsNs = 1'000'000'000;

}  // namespace

ProcessAccount::ThreadState* ProcessAccount::seen_thread(const capture::WaitRecord& record) {
    if (const auto slot = slots_.find(record.tid); slot != slots_.end()) {
        if (const auto at = threads_.find(slot->second);
            at != threads_.end() && at->second.tid == record.tid) {
            return &at->second;
        }
    }
    const std::uint64_t time_ns = clock_.to_ns(record.ticks);
    if (const auto ended = ended_ns_.find(record.tid); ended != ended_ns_.end()) {
        if (time_ns <= ended->second + kLastWordsNs) {
            return nullptr;  // its end has told all
        }
        ended_ns_.erase(ended);
    }
    if (only_seen_.size() >= kMostOnlySeen && !only_seen_.contains(record.tid)) {
        ++recorder_.beyond().threads;
        return nullptr;
    }
    const auto [at, is_new] = only_seen_.try_emplace(record.tid);
    if (is_new || record.cpu_ns < at->second.waits.cpu_ns()) {
        // New, or the second thread under this id.
        // In another pid namespace the next look at all names has it: a look is dear there.
        at->second = new_thread(record.tid,
                                identity_.same_pid_namespace
                                    ? thread_name_of(identity_.pid, static_cast<pid_t>(record.tid))
                                    : std::string{},
                                time_ns);
        at->second.waits.begin(time_ns, record.cpu_ns);
    }
    return &at->second;
}

void ProcessAccount::forget_ended() {
    const std::uint64_t now = monotonic_ns();
    std::erase_if(ended_ns_,
                  [now](const auto& ended) { return ended.second + 2 * kLastWordsNs < now; });
}

void ProcessAccount::on_wait(const Writer& writer, const DrainedWait& wait) {
    const capture::WaitRecord& record = wait.record;
    ThreadState* const thread = seen_thread(record);
    if (thread == nullptr || stopped_) {
        return;
    }
    const std::uint64_t time_ns = clock_.to_ns(record.ticks);
    thread->waits.read(time_ns, record.cpu_ns, record.processor_wait_ns);
    const auto kind = static_cast<capture::WaitKind>(record.head.b);
    if (kind == capture::WaitKind::stack) {
        thread->waits_at = stacks_.node_of(thread_of(writer, record.ticks).stack,
                                           {record.ticks, 0, 0, record.stop, 0, wait.frames});
        thread->wait_cpu_ns = record.cpu_ns;
    } else if (kind == capture::WaitKind::clocks || kind == capture::WaitKind::missed) {
        thread->waits_at.reset();
    }
    book_wait(*thread, Pseudo::waits_for_processor, thread->waits.take_for_processor(), time_ns);
    if (kind == capture::WaitKind::missed) {
        book_wait(*thread, Pseudo::wait_not_seen, thread->waits.take_asleep(), time_ns);
    }
    if (thread->waits_at) {
        record_wait(*thread, *thread->waits_at, thread->waits.take_asleep(), time_ns);
    }
    if (kind == capture::WaitKind::ended) {
        thread->waits_at.reset();
    }
}

NodeId ProcessAccount::place_of(const Writer& writer, const DrainedSample& sample) {
    return stacks_.node_of(thread_of(writer, sample.ticks).stack, sample);
}

void ProcessAccount::add_wait(const Writer& writer, NodeId where, std::uint64_t ns,
                              std::uint64_t time_ns) {
    record_wait(thread_of(writer, time_ns), where, ns, time_ns);
}

void ProcessAccount::add_wait(const Writer& writer, Pseudo what, std::uint64_t ns,
                              std::uint64_t time_ns) {
    book_wait(thread_of(writer, time_ns), what, ns, time_ns);
}

void ProcessAccount::record_wait(const ThreadState& thread, NodeId where, std::uint64_t ns,
                                 std::uint64_t time_ns) {
    if (const std::uint64_t most = recorder_.most_of_thread(time_ns);
        most != 0 && !thread.id.is_none()) {
        recorder_.sink().sample({thread.id, time_ns, where, std::min(ns, most)});
    }
}

void ProcessAccount::book_wait(const ThreadState& thread, Pseudo what, std::uint64_t ns,
                               std::uint64_t time_ns) {
    if (!thread.id.is_none()) {
        recorder_.book(thread.id, time_ns, what, std::min(ns, recorder_.most_of_thread(time_ns)));
    }
}

void ProcessAccount::book_waits(ThreadState& thread, std::uint64_t time_ns) {
    // It may have woken up since it was last seen to wait, but not for long.
    const bool still_there =
        thread.waits_at && thread.waits.cpu_ns() < thread.wait_cpu_ns + sampling_.period_ns;
    const std::uint64_t ns = thread.waits.take_asleep();
    if (ns == 0) {
        return;
    }
    if (still_there) {
        record_wait(thread, *thread.waits_at, ns, time_ns);
    } else {
        book_wait(thread, Pseudo::wait_not_seen, ns, time_ns);
    }
}

void ProcessAccount::end_waits(std::uint64_t time_ns) {
    const auto finish = [&](ThreadState& thread) {
        if (thread.tid == sampling_.observer_tid) {
            return;
        }
        // Where it was last seen to wait, or running ever since.
        if (thread.waits_at) {
            thread.waits.read(time_ns, thread.waits.cpu_ns());
        }
        book_waits(thread, time_ns);
    };
    for (auto& [slot, thread] : threads_) {
        finish(thread);
    }
    for (auto& [tid, thread] : only_seen_) {
        finish(thread);
    }
}

}  // namespace sample::collector
