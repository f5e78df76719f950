// _exit and its kin skip exit handlers; the process's last clock reading is taken here for them.
#include "sampler/agent/export.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/real.h"

#include <unistd.h>

#include <cstdlib>

namespace sample::agent {
namespace {

constinit Real<void(int)> g_exit{"_exit"};

[[noreturn]] void leave(int status) noexcept {
    note_exit(status);
    g_exit.get()(status);
    __builtin_unreachable();
}

}  // namespace
}  // namespace sample::agent

extern "C" {

SAMPLE_WRAPPER void _exit(int status) {
    sample::agent::leave(status);
}
SAMPLE_WRAPPER void _Exit(int status) noexcept {
    sample::agent::leave(status);
}

}  // extern "C"
