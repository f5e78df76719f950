// A recording of processes that run already, from outside: no agent, no signal, no stop.
//
//   perf events ─▶ EventWatch (rings) ─▶ AttachedProcess (walk) ─▶ Recorder ─▶ sink
//
// What it writes is what a session with agents writes.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/attach/attached_process.h"
#include "sampler/attach/outside_session.h"
#include "sampler/attach/thread_counts.h"
#include "sampler/collector/session_options.h"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sample::attach {

class AttachSession final : public OutsideSession {
public:
    /// Watches all threads of `pids`, and with options.children their descendants. Samples are
    /// taken from here on. `sink` gets the recording. Whoever calls it should be InFront, as
    /// threads that are busy would leave little time to begin. Errors: those of check_target() and
    /// explain_refusal().
    static Result<std::unique_ptr<AttachSession>> create(collector::SessionOptions options,
                                                         const std::vector<pid_t>& pids,
                                                         std::unique_ptr<trace::RecordSink> sink);

private:
    struct Watched {
        std::unique_ptr<AttachedProcess> process;
        Fd pidfd;
        bool is_target = false;  ///< It was asked for, not forked by one.
        /// Tells its program from one that it has become by an exec: an address of it, 0: unknown.
        std::uint64_t image = 0;
    };

    AttachSession(collector::SessionOptions options, std::unique_ptr<trace::RecordSink> sink);

    void on_sample(const StackSample& sample) override;
    void on_leaving(const StackSample& sample) override;
    void on_switch(const Switch& change) override;
    std::uint64_t lose_switches() override;
    void on_new_code(const NewCode& code) override;
    void on_start(pid_t parent, pid_t pid, pid_t tid, std::uint64_t time_ns) override;
    void on_end(pid_t pid, pid_t tid, std::uint64_t time_ns) override;
    void on_name(pid_t pid, pid_t tid, std::string_view name) override;
    void on_exec(pid_t pid, std::string_view name, std::uint64_t time_ns) override;

    void housekeeping(bool is_second) override;
    [[nodiscard]] bool have_all_ended() const override;
    [[nodiscard]] std::vector<int> wakers() const override;
    void end_all() override;
    [[nodiscard]] std::vector<std::string> own_notes() const override;

    [[nodiscard]] Result<void> attach(pid_t pid);
    void attach_descendants(const std::vector<pid_t>& pids);
    /// Begins to watch threads that no event has been handed on to.
    [[nodiscard]] Result<void> find_threads(pid_t pid);
    static void begin_thread(AttachedProcess& process, pid_t tid);
    Watched& add(collector::ProcessIdentity identity, Fd pidfd, bool is_target);
    Watched* find(pid_t pid);
    void add_fork(Watched& parent, pid_t pid, std::uint64_t time_ns);
    void take_deaths();
    /// Has more or less of stacks copied, if that is of use.
    void adapt_copies();
    /// Execs that no record tells of, as nothing was watched for a moment.
    void find_execs();
    void end(Watched& watched);

    ThreadCounts counts_;
    std::uint32_t most_of_stack_ = 0;  ///< That rings have room for.
    std::map<pid_t, Watched> processes_;
    std::uint64_t unwatched_threads_ = 0;
};

}  // namespace sample::attach
