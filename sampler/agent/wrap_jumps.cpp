// siglongjmp and its kin: a jump out of the program's own handler of our signal.
//
// The jump gives the thread the mask that was saved with its target; our signal is in no real mask,
// so the program's view of it is put back here (signals.h). A target inside the handler itself
// would be taken for one outside: nothing tells them apart, and nobody jumps so.
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"
#include "sampler/agent/signals.h"

#include <csetjmp>

namespace sample::agent {
namespace {

using Jump = void(__jmp_buf_tag*, int);

SAMPLE_REAL constinit Real<Jump> g_longjmp{"longjmp"};
SAMPLE_REAL constinit Real<Jump> g_longjmp_chk{"__longjmp_chk"};

[[noreturn]] void jump(Real<Jump>& real, __jmp_buf_tag* target, int value) noexcept {
    if (target->__mask_was_saved != 0 && own_signal() != 0) {
        note_jump();
    }
    real.get()(target, value);
    __builtin_unreachable();
}

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libc's names.
extern "C" {

SAMPLE_WRAPPER void siglongjmp(sigjmp_buf target, int value) noexcept {
    agent::jump(agent::g_longjmp, target, value);
}
SAMPLE_WRAPPER void longjmp(jmp_buf target, int value) noexcept {
    agent::jump(agent::g_longjmp, target, value);
}
SAMPLE_WRAPPER void _longjmp(jmp_buf target, int value) noexcept {
    agent::jump(agent::g_longjmp, target, value);
}
[[noreturn]] SAMPLE_WRAPPER void __longjmp_chk(__jmp_buf_tag* target, int value) noexcept {
    agent::jump(agent::g_longjmp_chk, target, value);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
