// How long the agent waits for the collector: as long as that does something, and at most
// 60 ms while it does nothing, once for all processes of a session.
//
// The collector may be stopped, or wait for a disk that does not answer: the program must not. On a
// busy machine it only has no processor for a while: then one of its threads is ready to run, or
// its CPU clock has moved. And the kernel may keep it for a while (a disk, a grace period of RCU):
// who needs what it writes, and the program that it has started and without which there is no
// recording, may let that count as doing something. The kernel tells all this to
// anybody, and no process of the session can forge it. The 60 ms are counted in short waits, which
// a busy machine makes longer, too.
//
// Who has waited in vain leaves word for the others: in the session's page, and in the environment
// for those who cannot see that.
//
// Async-signal-safe, no libc. Source: clock_gettime(2), include/linux/posix-timers.h.
#pragma once

#include <cstdint>

namespace sample::agent {

class Patience {
public:
    /// What one wait should last.
    static constexpr long kSliceNs = 5'000'000;
    static constexpr std::uint64_t kQuietNs = 60'000'000;
    /// For a collector whom the kernel keeps, where a recording depends on it.
    static constexpr std::uint64_t kMostForADiskNs = 2'000'000'000;

    /// `collector` 0: not known; then all that passes counts as quiet. `most_ns`: in all, whatever
    /// the collector does. `in_kernel_ns`: so long at most its waits inside the kernel count as
    /// doing something.
    Patience(int collector, std::uint64_t most_ns, std::uint64_t quiet_ns = kQuietNs,
             std::uint64_t in_kernel_ns = 0) noexcept
        : collector_{collector},
          most_ns_{most_ns},
          quiet_ns_{quiet_ns},
          in_kernel_left_ns_{in_kernel_ns} {}

    /// The listener's, as soon as it is known; 0 if it cannot be. `in_kernel_ns`: as above, more.
    void set_collector(int pid, std::uint64_t in_kernel_ns) noexcept {
        collector_ = pid;
        in_kernel_left_ns_ += in_kernel_ns;
    }

    [[nodiscard]] int collector() const noexcept { return collector_; }

    /// To be asked whenever a wait has brought nothing. False: give up.
    [[nodiscard]] bool goes_on() noexcept;

private:
    [[nodiscard]] std::uint64_t collector_cpu_ns() const noexcept;

    int collector_;
    std::uint64_t most_ns_;
    std::uint64_t quiet_ns_;
    std::uint64_t in_kernel_left_ns_;
    std::uint64_t waited_ns_ = 0;
    std::uint64_t quiet_since_ns_ = 0;  ///< Of what was waited.
    std::uint64_t last_ns_ = 0;
    std::uint64_t last_cpu_ns_ = 0;
};

/// Whether the process is gone, or dead and not waited for yet.
[[nodiscard]] bool is_dead(int pid) noexcept;

}  // namespace sample::agent
