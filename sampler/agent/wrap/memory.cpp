// mlockall: what it locks is the program's. What is mapped for samples, and the library itself, is
// unlocked again; what is mapped later never is locked (capture/area.h, capture/thread_state.h).
//
// Source: mlockall(2), munlock(2).
#include "sampler/agent/session/session_state.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/signal_stacks.h"
#include "sampler/capture/thread_slots.h"

#include <sys/mman.h>

#include <cstddef>
#include <span>

// The library's own first and last byte, by the linker.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];
extern "C" [[gnu::visibility("hidden")]] const char _end[];
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_mlockall, "mlockall", int(int));

void unlock_own_memory() noexcept {
    const auto unlock = [](std::span<const std::byte> memory) {
        capture::raw_syscall(SYS_munlock, capture::as_argument(memory.data()),
                             static_cast<long>(memory.size()));
    };
    unlock({reinterpret_cast<const std::byte*>(&__ehdr_start[0]),
            reinterpret_cast<const std::byte*>(&_end[0])});
    capture::thread_states().for_each_mapping(unlock);
    capture::for_each_stack_slab(unlock);
    if (const capture::Area* area = capture::current_area(); area != nullptr) {
        area->for_each_mapping(unlock);
    }
    if (const capture::SessionPage* page = session_page(); page != nullptr) {
        unlock({reinterpret_cast<const std::byte*>(page), sizeof *page});
    }
}

}  // namespace
}  // namespace sample::agent

extern "C" {

SAMPLE_WRAPPER int mlockall(int flags) noexcept {
    const int result = sample::agent::g_mlockall.get()(flags);
    if (result == 0) {
        sample::agent::unlock_own_memory();
    }
    return result;
}

}  // extern "C"
