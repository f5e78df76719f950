#include "sampler/agent/session/control_request.h"

#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/weight.h"

#include <cerrno>
#include <cstring>

namespace sample::agent {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

bool is_collector_gone() noexcept {
    // A filter that forbids joining may forbid what is asked here, too.
    return collector_pid() != 0 && may_join() &&
           capture::raw_syscall(SYS_kill, collector_pid(), 0) == -ESRCH;
}

/// The area of a process whose session goes on, or null.
capture::Area* listening_area() noexcept {
    capture::Area* const area = capture::current_area();
    return area != nullptr && is_own_process() && session_page() != nullptr &&
                   area->header.stopped.load(std::memory_order_relaxed) == 0
               ? area
               : nullptr;
}

/// Returns the serial that its answer will have.
std::uint32_t post(capture::AreaHeader& header, ControlRequest request) noexcept {
    std::uint64_t before = header.control_request.load(std::memory_order_relaxed);
    control::ControlWord word;
    do {
        const control::ControlWord last = control::unpack(before);
        word = {last.serial + 1, request};
        const bool is_unread = last.serial != header.control_ack.load(std::memory_order_acquire);
        if (is_unread && request.frequency_hz == 0) {
            word.request.frequency_hz = last.request.frequency_hz;
        }
        // Release pairs with the acquire in Gatekeeper::answer().
    } while (!header.control_request.compare_exchange_weak(
        before, control::pack(word), std::memory_order_release, std::memory_order_relaxed));
    ring_doorbell();
    return word.serial;
}

}  // namespace

bool post_control(ControlRequest request) noexcept {
    capture::Area* const area = listening_area();
    if (area == nullptr || is_collector_gone()) {
        return false;
    }
    post(area->header, request);
    return true;
}

bool ask_control(ControlRequest request, unsigned timeout_ms) noexcept {
    capture::Area* const area = listening_area();
    return area != nullptr && !is_collector_gone() &&
           wait_for(area->header.control_ack, post(area->header, request),
                    std::uint64_t{timeout_ms} * kNsPerMs, AnsweredBy::session);
}

SamplingState sampling_state() noexcept {
    const capture::Area* const area = listening_area();
    if (area == nullptr) {
        return {};
    }
    const std::uint32_t hz = area->header.frequency_hz.load(std::memory_order_relaxed);
    const bool takes_samples = hz != 0 || capture::counts_events(area->header);
    return {true, takes_samples,
            takes_samples && area->header.off.load(std::memory_order_acquire) == 0, hz};
}

bool control_socket_path(std::span<char> out) noexcept {
    const char* const path = control_socket();
    const std::size_t size = strlen(path) + 1;
    if (listening_area() == nullptr || size == 1 || out.size() < size) {
        return false;
    }
    memcpy(out.data(), path, size);
    return true;
}

}  // namespace sample::agent
