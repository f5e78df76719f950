// The table that the host of profiler modules calls, the note by which it finds it, and who is
// told.
#include "sampler/agent/hosting/hosting.h"

#include "sample/agent_note.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/processes/readable.h"
#include "sampler/agent/session/control_request.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/thread_slots.h"
#include "sampler/capture/weight.h"
#include "sampler/instrument/call_stacks.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace sample::agent {
namespace {

// SAMPLE_PROFILER_SAMPLE_MODE_...
constexpr std::uint32_t kModeNone = 0;
constexpr std::uint32_t kModeCpu = 1;
constexpr std::uint32_t kModeWall = 2;

constinit std::atomic<const sample_module_listener*> g_module_host{nullptr};
/// The calling thread is telling of memory, and its last stack is what that is about.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local bool t_tells_stack = false;

std::uint32_t is_profiled() noexcept {
    return capture::current_area() != nullptr ? 1 : 0;
}

std::uint32_t is_sampled() noexcept {
    return process_state().source.load(std::memory_order_relaxed) != control::Source::none ? 1 : 0;
}

std::uint32_t tells_allocations() noexcept {
    return tells_heap != nullptr && tells_heap() ? 1 : 0;
}

void listen_as_host(const sample_module_listener* listener) noexcept {
    g_module_host.store(listener, std::memory_order_release);
    capture::set_sample_hit(listener->sample_hit);
}

std::uint32_t stack_told(std::uint64_t* pcs, std::uint32_t most) noexcept {
    const std::uint32_t sampled = capture::copy_sampled_stack(pcs, most);
    return sampled != 0 || !t_tells_stack ? sampled : instrument::copy_last_stack(pcs, most);
}

void note_set_up(const char* name) noexcept {
    capture::Area* const area = capture::current_area();
    if (area == nullptr) {
        return;
    }
    auto& said = area->header.module_in_set_up;
    const std::size_t size = name == nullptr ? 0 : strnlen(name, said.size());
    // Its first byte last: nobody sees half a name that ends in another one's.
    said[0].store(0, std::memory_order_release);
    for (std::size_t i = said.size(); i-- > 0;) {
        said[i].store(i < size ? name[i] : '\0', std::memory_order_release);
    }
}

void note_callback(const sample_module_name* module, std::uint32_t event) noexcept {
    static_assert(sizeof(sample_module_name) == capture::kModuleNameBytes);
    capture::Area* const area = capture::current_area();
    const capture::ThreadLocal& self = capture::t_thread;
    if (area != nullptr && module != nullptr && self.busy == 0) {
        capture::claim_own_slot(*area);
    }
    if (area == nullptr || self.state == nullptr) {
        return;
    }
    auto& said = self.state->slot->callback;
    // The event is there only while the name is whole.
    said[0].store(0, std::memory_order_release);
    if (module == nullptr) {
        return;
    }
    std::array<std::uint64_t, sizeof *module / 8> letters{};
    memcpy(letters.data(), module, sizeof *module);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        said[i + 1].store(letters[i], std::memory_order_release);
    }
    said[0].store(event + std::uint64_t{1}, std::memory_order_release);
}

/// What the session's samples go by; none: by no clock.
std::uint32_t mode_of(const capture::AreaHeader& header) noexcept {
    if (capture::counts_events(header)) {
        return kModeNone;
    }
    return header.observes_waits.load(std::memory_order_relaxed) != 0 ? kModeWall : kModeCpu;
}

std::uint32_t set_sampling(std::uint32_t mode, std::uint32_t frequency_hz) noexcept {
    const capture::Area* const area = capture::current_area();
    if (area == nullptr) {
        return 0;
    }
    if (mode == kModeNone) {
        return post_control({ControlKind::pause, 0}) ? 1 : 0;
    }
    return mode == mode_of(area->header) && post_control({ControlKind::start, frequency_hz}) ? 1
                                                                                             : 0;
}

std::uint32_t sampling(std::uint32_t* frequency_hz) noexcept {
    const capture::Area* const area = capture::current_area();
    const SamplingState state = sampling_state();
    *frequency_hz = state.frequency_hz;
    return area != nullptr && state.sampling ? mode_of(area->header) : kModeNone;
}

void load_host() noexcept {
    constexpr std::string_view kHost = "libsample-modules.so";
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&load_host), &own) == 0) {
        return;
    }
    const char* const slash = strrchr(own.dli_fname, '/');
    const std::size_t folder =
        slash == nullptr ? 0 : static_cast<std::size_t>(slash - own.dli_fname) + 1;
    std::array<char, PATH_MAX> path{};
    if (folder + kHost.size() < path.size()) {
        memcpy(path.data(), own.dli_fname, folder);
        memcpy(path.data() + folder, kHost.data(), kHost.size());
        dlopen(path.data(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
}

}  // namespace

const sample_module_listener* module_host() noexcept {
    return g_module_host.load(std::memory_order_acquire);
}

void tell_allocated(const Before& before, const void* block, std::uint64_t bytes,
                    std::uint32_t stack) noexcept {
    if (const sample_module_listener* const host = module_host(); host != nullptr) {
        t_tells_stack = stack != 0;
        host->allocated(before.block, before.bytes, block, bytes);
        t_tells_stack = false;
    }
}

void tell_freed(const void* block, std::uint64_t bytes, std::uint32_t stack) noexcept {
    if (const sample_module_listener* const host = module_host(); host != nullptr) {
        t_tells_stack = stack != 0;
        host->freed(block, bytes);
        t_tells_stack = false;
    }
}

void tell_thread_started() noexcept {
    if (const sample_module_listener* const host = module_host(); host != nullptr) {
        host->thread_started();
    }
}

void tell_thread_stopped() noexcept {
    if (const sample_module_listener* const host = module_host(); host != nullptr) {
        host->thread_stopped();
    }
}

void tell_exec(const char* path) noexcept {
    const sample_module_listener* const host = module_host();
    if (host != nullptr && is_own_process()) {
        host->exec(Readable{}.text(path) ? path : "");
    }
}

}  // namespace sample::agent

// NOLINTBEGIN(readability-identifier-naming): where the note leads to.
extern "C" [[gnu::visibility("hidden")]] const sample_module_agent sample_agent_host_functions;
const sample_module_agent sample_agent_host_functions = {
    SAMPLE_MODULE_AGENT_VERSION, sizeof(sample_module_agent),      sample::agent::is_profiled,
    sample::agent::is_sampled,   sample::agent::tells_allocations, sample::agent::listen_as_host,
    sample::agent::stack_told,   sample::agent::note_set_up,       sample::agent::set_sampling,
    sample::agent::sampling,     sample::agent::load_host,         sample::agent::note_callback,
};
// NOLINTEND(readability-identifier-naming)

static_assert(SAMPLE_MODULE_AGENT_NOTE == 4);
asm(R"(
    .pushsection .note.sample, "a", @note
    .balign 4
    .long 7, 8, 4
    .asciz "sample"
    .balign 4
0:  .quad sample_agent_host_functions - 0b
    .popsection
)");
