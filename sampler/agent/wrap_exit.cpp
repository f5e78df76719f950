// _exit and its kin skip exit handlers; the process's last clock reading is taken here for them.
// quick_exit has handlers of its own, which are not told the status.
#include "sampler/agent/export.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/real.h"

#include <unistd.h>

#include <cstdlib>

namespace sample::agent {
namespace {

SAMPLE_REAL constinit Real<void(int)> g_exit{"_exit"};
SAMPLE_REAL constinit Real<void(int)> g_quick_exit{"quick_exit"};

constinit int g_quick_status = 0;

[[noreturn]] void leave(int status) noexcept {
    note_exit(status);
    g_exit.get()(status);
    __builtin_unreachable();
}

void at_quick_exit_of_all() {
    note_exit(g_quick_status);
}

}  // namespace

void set_up_quick_exit() noexcept {
    // Registered first, runs last.
    at_quick_exit(at_quick_exit_of_all);
}

}  // namespace sample::agent

extern "C" {

SAMPLE_WRAPPER void _exit(int status) {
    sample::agent::leave(status);
}
SAMPLE_WRAPPER void _Exit(int status) noexcept {
    sample::agent::leave(status);
}
SAMPLE_WRAPPER void quick_exit(int status) noexcept {
    sample::agent::g_quick_status = status;
    sample::agent::g_quick_exit.get()(status);
    __builtin_unreachable();
}

}  // extern "C"
