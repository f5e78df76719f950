// A program that runs one instruction at a time, under ptrace.
//
// It gets no environment but what the caller names, and no address randomisation where that can be
// had, so that two runs take the same path. It dies with this process. One thread: what it clones
// runs untraced.
#pragma once

#include "core/result.h"
#include "unwind/walk/module_table.h"
#include "unwind/walk/registers.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::unwind::truth {

/// One line of /proc/PID/maps.
struct Mapping {
    AddressRange range;
    std::uint64_t offset = 0;
    bool writable = false;
    bool executable = false;
    std::string path;  ///< Of the file, or "[stack]", "[vdso]", or empty.
};

class Tracee {
public:
    enum class Event : std::uint8_t {
        stepped,  ///< One instruction has run, or a signal handler is about to begin.
        signal,   ///< Nothing has run; the signal comes with the next step.
        exited,   ///< With exit status `detail`.
        killed,   ///< By signal `detail`.
    };
    struct Stop {
        Event event = Event::stepped;
        int detail = 0;
    };

    /// Starts `command`, found as it is written, with `environment` ("NAME=VALUE"), and stops it
    /// before its first instruction, which is the loader's or, in a static program, its own.
    [[nodiscard]] static Result<Tracee> start(std::vector<std::string> command,
                                              std::vector<std::string> environment);

    Tracee(Tracee&& other) noexcept;
    Tracee(const Tracee&) = delete;
    Tracee& operator=(Tracee&&) = delete;
    Tracee& operator=(const Tracee&) = delete;
    ~Tracee();

    /// Lets it run freely until it reaches `address`.
    [[nodiscard]] Result<void> run_to(std::uint64_t address) const;
    /// Lets it run one instruction, delivering the signal of the previous stop, if it was one.
    [[nodiscard]] Result<Stop> step();
    /// Whether the next step will deliver one.
    [[nodiscard]] bool has_signal() const noexcept { return signal_ != 0; }

    [[nodiscard]] Result<Registers> registers() const;
    /// Fills `out` from `address`; false if not all of it is readable.
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> out) const;
    /// A value of the auxiliary vector, or 0.
    [[nodiscard]] std::uint64_t auxiliary(std::uint64_t type) const;
    /// All mappings, by address.
    [[nodiscard]] std::vector<Mapping> mappings() const;

private:
    explicit Tracee(pid_t pid) noexcept : pid_{pid} {}

    pid_t pid_;
    int signal_ = 0;  ///< To be delivered with the next step.
};

}  // namespace sample::unwind::truth
