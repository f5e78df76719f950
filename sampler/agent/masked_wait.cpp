#include "sampler/agent/masked_wait.h"

#include "sampler/agent/program_view.h"
#include "sampler/agent/signals.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"

namespace sample::agent {

bool is_one_unhandled(const sigset_t& mask) noexcept {
    // Without a signal of ours no sample was in the way, and a filter may forbid to ask.
    std::uint64_t waiting = 0;
    if (own_signal() == 0 || !capture::may_ask_who_waits() ||
        capture::raw_syscall(SYS_rt_sigpending, capture::as_argument(&waiting), sizeof waiting) !=
            0) {
        return false;
    }
    for (int signal = 1; signal <= 64; ++signal) {
        struct sigaction action {};
        if ((waiting >> (signal - 1) & 1) != 0 && sigismember(&mask, signal) == 0 &&
            real_sigaction(signal, nullptr, &action) == 0 && has_handler(action)) {
            return true;
        }
    }
    return false;
}

}  // namespace sample::agent
