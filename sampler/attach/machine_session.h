// A recording of every process of the machine: `sample record -a`.
//
// One event a CPU expires once a period, whoever runs there, unless nobody does. The kernel's
// records of forks, execs, mappings and ends are kept for all processes; /proc is asked for those
// that ran before, when they are first met. A process is written when it has its first sample: one
// that never was met by one has no time that is known.
//
// What a sample stands for is a period, not bounded by any process's clock: of processes that come
// and go nobody can read that. So the sum is the processors' time, and what a short process gets
// is chance.
#pragma once

#include "core/file_rights.h"
#include "core/result.h"
#include "sampler/attach/outside_session.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::attach {

class MachineSession final : public OutsideSession {
public:
    /// Samples are taken from here on. `sink` gets the recording.
    /// Errors: permission, with what to do; unsupported; system.
    static Result<std::unique_ptr<MachineSession>> create(collector::SessionOptions options,
                                                          std::unique_ptr<trace::RecordSink> sink);

private:
    struct Known {
        pid_t parent = 0;
        std::string name;        ///< Of its first thread.
        std::string executable;  ///< Empty behind an exec, until its code is mapped.
        std::vector<collector::Mapping> code;
        std::shared_ptr<const FileRights> rights;
        std::uint64_t born_ns = 0;  ///< When it was forked, or its program began; 0: before all.
        bool is_kernel_thread = false;
        bool has_ended = false;                    ///< Its first thread has,
        bool is_over = false;                      ///< and that was a while ago.
        std::unique_ptr<AttachedProcess> process;  ///< Once it had a sample.
    };

    using Thread = std::pair<pid_t, pid_t>;  ///< Its process, and its own number.

    MachineSession(collector::SessionOptions options, std::unique_ptr<trace::RecordSink> sink);

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
    [[nodiscard]] bool have_all_ended() const override { return false; }
    [[nodiscard]] std::vector<int> wakers() const override { return {}; }
    void end_all() override;
    [[nodiscard]] std::vector<std::string> own_notes() const override;

    /// Asks /proc for one that was not known.
    Known& known_process(pid_t pid);
    static Known met(pid_t pid);
    void write(pid_t pid, Known& known, std::uint64_t time_ns);
    /// Which is written, if need be.
    AttachedProcess& process_of(pid_t pid, std::uint64_t time_ns);
    void end(Known& known, trace::EndKind kind);
    /// Does nothing if it is not known.
    void end_thread(const Thread& thread);

    std::unordered_map<pid_t, Known> processes_;
    std::vector<pid_t> ended_;  ///< Whose first thread has, and that are still in processes_.
    std::vector<Thread> ended_threads_;  ///< Not first ones; since the last round.
    std::vector<Thread> over_threads_;   ///< Those of the round before.
    std::uint64_t whole_ns_ = 0;
    std::uint64_t own_ns_ = 0;  ///< Of it, this process's.
};

}  // namespace sample::attach
