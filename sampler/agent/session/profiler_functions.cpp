// What programs call that include sample/profiler.h: a table, and the note by which they find it.
#include "sample/profiler_abi.h"
#include "sampler/agent/session/control_request.h"

#include <cstddef>
#include <cstdint>

namespace sample::agent {
namespace {

static_assert(SAMPLE_PROFILER_START == static_cast<int>(ControlKind::start));
static_assert(SAMPLE_PROFILER_STOP == static_cast<int>(ControlKind::stop));
static_assert(SAMPLE_PROFILER_PAUSE == static_cast<int>(ControlKind::pause));
static_assert(SAMPLE_PROFILER_RESUME == static_cast<int>(ControlKind::resume));

std::uint32_t control(std::uint32_t command, std::uint32_t frequency_hz,
                      std::uint32_t timeout_ms) noexcept {
    const SamplingState state = sampling_state();
    if (state.connected && !state.takes_samples) {
        return SAMPLE_PROFILER_TAKES_NONE;
    }
    return ask_control({static_cast<ControlKind>(command), frequency_hz}, timeout_ms) ? 1 : 0;
}

void sampling(sample_profiler_sampling* into) noexcept {
    const SamplingState state = sampling_state();
    *into = {state.connected ? 1U : 0U, state.sampling ? 1U : 0U, state.frequency_hz};
}

std::uint32_t socket_path(char* path, std::size_t bytes) noexcept {
    return control_socket_path({path, bytes}) ? 1 : 0;
}

}  // namespace
}  // namespace sample::agent

// Among what is relocated, which the loader makes read-only.
extern "C" [[gnu::used, gnu::visibility("hidden"),
             gnu::section(".data.rel.ro.sample_profiler")]] const sample_profiler_functions
    sample_agent_profiler_functions = {SAMPLE_PROFILER_VERSION, sizeof(sample_profiler_functions),
                                       sample::agent::control, sample::agent::sampling,
                                       sample::agent::socket_path};

static_assert(SAMPLE_PROFILER_NOTE == 2);
asm(R"(
    .pushsection .note.sample, "a", @note
    .balign 4
    .long 7, 8, 2
    .asciz "sample"
    .balign 4
0:  .quad sample_agent_profiler_functions - 0b
    .popsection
)");
