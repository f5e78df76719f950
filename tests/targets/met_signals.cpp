// Works, and says how often it has met SIGTRAP and SIGURG, of which it sends itself none.
//
//     met_signals
#include "work.h"

#include <csignal>

namespace {

volatile std::sig_atomic_t met = 0;

void count(int /*signal*/) {
    met = met + 1;
}

}  // namespace

int main() {
    std::signal(SIGTRAP, count);
    std::signal(SIGURG, count);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);  // NOLINT(concurrency-mt-unsafe): it is alone
    targets::burn(50'000'000);
    std::printf("met: %d\n", static_cast<int>(met));
    return 0;
}
