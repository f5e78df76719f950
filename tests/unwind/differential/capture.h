// Samples of a program, taken from outside by the kernel: registers and a copy of the stack, as
// `perf record --call-graph dwarf` takes them. Nothing of ours runs in the program.
//
// A cpu-clock event a CPU, inherited by all descendants, writes the samples. A second event, with a
// buffer of its own that samples cannot overrun, writes what is mapped, forked and exec'd. Records
// of all buffers are handed out by time, each after those that were written before it. A buffer
// that is full loses samples: counted, not prevented.
// Source: perf_event_open(2); Linux uapi/linux/perf_event.h.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "unwind/walk/registers.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sample::unwind::differential {

/// One interrupted thread. In the kernel: as it entered it.
struct StackSample {
    pid_t pid = 0;
    pid_t tid = 0;
    Registers registers;
    /// From rsp up, to the stack's end or the first page that is not in memory, which a large frame
    /// can have. Empty if the thread had no memory (exec, exit).
    std::span<const std::byte> stack;
    bool full = false;  ///< As long as a record can be.

    [[nodiscard]] std::uint64_t end() const noexcept { return registers.sp() + stack.size(); }
};

/// A file mapped as code.
struct CodeMapping {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::string_view path;  ///< As the kernel names it: "[vdso]", "//anon" are no files.
};

class CaptureSink {
public:
    CaptureSink() = default;
    CaptureSink(const CaptureSink&) = delete;
    CaptureSink& operator=(const CaptureSink&) = delete;
    virtual ~CaptureSink() = default;

    virtual void on_mapping(pid_t pid, const CodeMapping& mapping) = 0;
    virtual void on_fork(pid_t parent, pid_t child) = 0;
    virtual void on_exec(pid_t pid) = 0;
    virtual void on_exit(pid_t pid) = 0;
    /// `sample` is valid until the return.
    virtual void on_sample(const StackSample& sample) = 0;
};

struct CaptureOptions {
    std::uint64_t hz = 5000;              ///< Of each thread's CPU time.
    std::size_t buffer_mib = 64;          ///< Of samples, a CPU; a power of two.
    std::size_t tracking_buffer_mib = 1;  ///< Of everything else.
};

struct EventBuffer;

class Capture {
public:
    /// Sampling starts with the next exec of `pid`. Errors: system (perf_event_open refused, no
    /// memory for the buffers).
    [[nodiscard]] static Result<Capture> open(pid_t pid, const CaptureOptions& options);

    Capture(Capture&&) noexcept;
    Capture& operator=(Capture&&) noexcept;
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture();

    /// Waits until a buffer is a quarter full, `milliseconds` at most.
    void wait(int milliseconds) const;
    /// Hands out what was written until a moment ago.
    void drain(CaptureSink& sink);
    /// Hands out the rest. After the program's end.
    void finish(CaptureSink& sink);

    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

private:
    Capture() noexcept;
    void hand_out(CaptureSink& sink, std::uint64_t until);

    std::vector<std::unique_ptr<EventBuffer>> buffers_;
    std::uint64_t lost_ = 0;
};

}  // namespace sample::unwind::differential
