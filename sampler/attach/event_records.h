// What perf events write about the threads that they watch, as plain values.
//
// Every record but a sample ends in pid, tid and time (sample_id_all), so that the records of all
// CPUs can be put in order. Source: perf_event_open(2); Linux uapi/linux/perf_event.h.
#pragma once

#include "unwind/walk/registers.h"

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sample::attach {

/// One interrupted thread. In the kernel: its registers and stack are as it entered it.
struct StackSample {
    pid_t pid = 0;
    pid_t tid = 0;
    std::uint64_t time_ns = 0;     ///< CLOCK_MONOTONIC
    std::size_t ring = 0;          ///< Which ring it comes from, so which CPU.
    std::uint64_t counted_ns = 0;  ///< For how long the thread has run on that CPU, under watch; 0:
                                   ///< the kernel does not tell.
    /// The kernel's part of the stack, if that is asked for: words, which kernel_frames() reads.
    std::span<const std::byte> kernel_chain;
    bool has_registers = false;  ///< Else the thread was on its way out of its program.
    unwind::Registers registers;
    /// From rsp up, to the stack's end or the first page that is not in memory.
    std::span<const std::byte> stack;
    bool is_cut_off = false;  ///< The copy is as long as it may be: the stack may be longer.
};

/// A thread that leaves its processor, or gets one.
struct Switch {
    pid_t pid = 0;
    pid_t tid = 0;
    std::uint64_t time_ns = 0;
    bool is_in = false;
    bool is_preempted = false;  ///< On its way out: it could have run on.
};

/// A thread that makes another one ready to run.
struct Waking {
    pid_t woken = 0;  ///< As the outermost pid namespace has it.
    pid_t waker = 0;  ///< 0: nobody, as an interrupt did it.
};

/// Puts the kernel's frames behind `frames`, FrameAddress bits, the root first.
void append_kernel_frames(const StackSample& sample, std::vector<std::uint64_t>& frames);

/// A file, or memory without one, mapped as code.
struct NewCode {
    pid_t pid = 0;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::string_view path;  ///< As the kernel names it: "[vdso]", "//anon" are no files.
};

class EventSink {
public:
    EventSink() = default;
    EventSink(const EventSink&) = delete;
    EventSink& operator=(const EventSink&) = delete;
    virtual ~EventSink() = default;

    /// `sample` is valid until the return.
    virtual void on_sample(const StackSample& sample) = 0;
    /// The thread leaves its processor there: the next that comes of it is on_switch(). As
    /// on_sample(); this and the next two only with EventWishes::with_switches.
    virtual void on_leaving(const StackSample& /*sample*/) {}
    virtual void on_switch(const Switch& /*change*/) {}
    virtual void on_waking(const Waking& /*waking*/) {}
    virtual void on_new_code(const NewCode& code) = 0;
    /// A thread of `pid` began; where `parent` is another process, that one has forked.
    virtual void on_start(pid_t parent, pid_t pid, pid_t tid, std::uint64_t time_ns) = 0;
    virtual void on_end(pid_t pid, pid_t tid, std::uint64_t time_ns) = 0;
    virtual void on_name(pid_t pid, pid_t tid, std::string_view name) = 0;
    /// The process runs another program, called `name`, from now on.
    virtual void on_exec(pid_t pid, std::string_view name, std::uint64_t time_ns) = 0;
    virtual void on_lost(std::uint64_t records) = 0;
};

/// What is asked of an event.
struct EventWishes {
    std::uint64_t period_ns = 0;
    std::uint32_t stack_bytes = 0;  ///< Of a copy, at most; a multiple of 8.
    std::size_t ring_bytes = 0;
    bool exclude_kernel = false;
    bool with_kernel_frames = false;  ///< Samples tell StackSample::kernel_chain.
    bool of_machine = false;          ///< One event for all that a CPU does, but for being idle.
    bool with_children = false;       ///< Processes that are forked are watched, too.
    bool with_count = true;           ///< Samples tell StackSample::counted_ns: Linux 6.12.
    bool with_switches = false;       ///< Other events tell of switches, and wakings, too.
};

[[nodiscard]] perf_event_attr attributes_of(const EventWishes& wishes);
/// Of the event that tells of each switch. Its sample, with the stack that is left, comes before
/// the record of the switch. Source: Linux kernel/sched/core.c, prepare_task_switch().
[[nodiscard]] perf_event_attr switch_attributes_of(const EventWishes& wishes);
/// Of the tracepoint sched:sched_waking, whose number is `id`.
[[nodiscard]] perf_event_attr waking_attributes_of(const EventWishes& wishes, std::uint64_t id);

/// When the record was written, CLOCK_MONOTONIC.
[[nodiscard]] std::uint64_t time_of(std::span<const std::byte> record) noexcept;

/// Hands one record of the ring number `ring` to `sink`. Those of other kinds are left out.
void decode(std::span<const std::byte> record, const EventWishes& wishes, std::size_t ring,
            EventSink& sink);

}  // namespace sample::attach
