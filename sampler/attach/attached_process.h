// One image of a watched process: its copied stacks walked, and handed to the account that the
// processes with an agent have, too.
//
//   event_records ─▶ CodeMap (what is mapped) ─▶ unwind/walk over the copy ─▶ ProcessAccount
//
// Not thread-safe.
#pragma once

#include "sampler/attach/code_images.h"
#include "sampler/attach/code_map.h"
#include "sampler/attach/copy_size.h"
#include "sampler/attach/event_records.h"
#include "sampler/attach/thread_switches.h"
#include "sampler/attach/wakers.h"
#include "sampler/collector/process/process_account.h"
#include "sampler/collector/process/tick_clock.h"
#include "sampler/collector/recorder.h"
#include "unwind/walk/row_cache.h"
#include "unwind/walk/stack_memo.h"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::attach {

/// What all watched processes share; outlives them.
struct Surroundings {
    explicit Surroundings(collector::Recorder& session_recorder)
        : recorder{session_recorder},
          wakers{session_recorder},
          storage{std::make_unique<std::array<unwind::RowCache::Entry, kRows>>()},
          rows{*storage} {}

    static constexpr std::size_t kRows = 16384;

    collector::Recorder& recorder;
    Wakers wakers;
    collector::TickClock clock{collector::TickClock::OfNanoseconds{}};
    collector::Sampling sampling;
    std::size_t max_depth = unwind::StackMemo::kMaxFrames;
    CodeImages images;
    CopySize copies;
    bool adapts_copies = true;
    /// What samples stand for is not bounded by the processes' clocks.
    bool believes_weights = false;
    bool sees_switches = false;
    /// Since when a thread whose start nobody has told has been watched; nothing: not known.
    std::optional<std::uint64_t> watched_since_ns;
    std::unique_ptr<std::array<unwind::RowCache::Entry, kRows>> storage;
    unwind::RowCache rows;
};

[[nodiscard]] collector::Mapping mapping_of(const NewCode& code);

/// What /proc says of a process.
[[nodiscard]] collector::ProcessIdentity identity_of(pid_t pid);

class AttachedProcess {
public:
    /// Writes the process.
    AttachedProcess(collector::ProcessIdentity identity, Surroundings& around);
    AttachedProcess(const AttachedProcess&) = delete;
    AttachedProcess& operator=(const AttachedProcess&) = delete;
    ~AttachedProcess() = default;

    [[nodiscard]] pid_t pid() const { return account_.identity().pid; }
    [[nodiscard]] const collector::ProcessIdentity& identity() const { return account_.identity(); }

    /// Looks at all that is mapped by now.
    void read_mappings();
    /// What its parent had mapped when it was forked.
    void inherit(const CodeMap& parent);
    [[nodiscard]] const CodeMap& code() const { return code_; }
    void add_code(const collector::Mapping& code);
    /// It has no program, so that its stacks have nothing but the kernel's part.
    void set_kernel_thread() { is_kernel_thread_ = true; }

    /// A thread that has used `cpu_ns` by now.
    void start_thread(pid_t tid, const std::string& name, std::uint64_t cpu_ns,
                      std::uint64_t time_ns, ThreadSwitches switches);
    void end_thread(pid_t tid);
    void name_thread(pid_t tid, std::string_view name);
    [[nodiscard]] bool has_thread(pid_t tid) const { return threads_.contains(tid); }
    [[nodiscard]] std::string name_of_thread(pid_t tid) const;
    [[nodiscard]] bool has_threads() const { return !threads_.empty(); }

    /// `weight_ns`: of its thread's time, what it stands for.
    void add_sample(const StackSample& sample, std::uint64_t weight_ns);

    /// The stack of the switch that comes next.
    void add_leaving(const StackSample& sample);
    /// `waker`: the frame of who has woken a thread that comes back, if that is known.
    void add_switch(const Switch& change, std::optional<ModuleId> waker);
    /// The thread ends: what is told of it from now on is no wait.
    void end_switches(pid_t tid);
    /// Records were lost. How many waits are in no figure for that.
    [[nodiscard]] std::uint64_t lose_switches();
    /// Nobody looks at switches from `since_ns` until go_on_watching().
    void pause_watching();
    void go_on_watching(std::uint64_t since_ns);

    /// Writes what was handed in, against the process's clock as it is now.
    void settle();
    /// What was spent in this image and those before.
    [[nodiscard]] std::uint64_t accounted_cpu_ns() const { return account_.accounted_cpu_ns(); }
    /// `is_replaced`: the process's clock is the next image's by now.
    void end(trace::ProcessEnd end, bool is_replaced);

private:
    struct FreeMemo {
        void operator()(unwind::StackMemo* memo) const noexcept;
    };
    using Memo = std::unique_ptr<unwind::StackMemo, FreeMemo>;
    struct ThreadState {
        Memo memo;
        std::string name;
        ThreadSwitches switches;
        std::uint64_t cpu_ns = 0;  ///< Its clock, when it was begun to be watched, or paused.
    };
    static Memo make_memo();

    ThreadState& thread_of(pid_t tid, std::uint64_t time_ns);
    bool add_mapping(const collector::Mapping& mapping, std::uint64_t time_ns);
    void walk(const StackSample& sample, ThreadState& thread, collector::DrainedSample& out);
    /// Its frames are frames_.
    collector::DrainedSample stack_of(const StackSample& sample, ThreadState& thread);
    void write_wait(pid_t tid, const Wait& wait, std::optional<ModuleId> waker,
                    std::uint64_t time_ns);
    /// The waits that go on.
    void end_waits();
    /// Whether the first so many bytes of the copy lead to the stack's root.
    [[nodiscard]] bool is_whole_with(const StackSample& sample, std::size_t bytes);
    /// Mappings that nobody has told of, as records of them were lost.
    void look_again(std::uint64_t time_ns);

    Surroundings& around_;
    collector::ProcessAccount account_;
    CodeMap code_;
    std::unordered_map<pid_t, ThreadState> threads_;
    std::vector<std::uint64_t> frames_;
    std::vector<FrameAddress> tried_;
    bool is_kernel_thread_ = false;
    std::uint64_t last_cpu_ns_ = 0;  ///< The process's clock, when it could be read last.
    std::uint64_t look_pause_ns_ = 1;
    std::uint64_t next_look_ns_ = 0;
};

}  // namespace sample::attach
