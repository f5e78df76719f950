#include "sampler/collector/control/openers.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace sample::collector {

void Openers::forget_the_dead() {
    openers_.remove_if([](const Opener& each) {
        pollfd end{each.pidfd.get(), POLLIN, 0};
        return !each.pidfd.is_open() || ::poll(&end, 1, 0) > 0;
    });
}

bool Openers::open(const std::string& token, pid_t pid) {
    forget_the_dead();
    const bool is_known = std::any_of(openers_.begin(), openers_.end(),
                                      [&](const Opener& each) { return each.token == token; });
    if (is_known || openers_.size() == kMost) {
        return is_known;
    }
    openers_.push_back({token, Fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))}});
    return true;
}

void Openers::close(const std::string& token) {
    openers_.remove_if([&](const Opener& each) { return each.token == token; });
}

bool Openers::owns(const std::string& token) {
    forget_the_dead();
    return token.empty() || (!openers_.empty() && openers_.front().token == token);
}

}  // namespace sample::collector
