#include "receivers/unity/host/recording.h"

namespace sample::unity {

constinit std::atomic<const sample_trace_functions*> detail::g_recording{nullptr};

void begin_recording() noexcept {
    detail::g_recording.store(sample_trace_module.functions, std::memory_order_relaxed);
}

void listen_to_program(const sample_trace_listener& listener) noexcept {
    if (sample_trace_module.functions == nullptr) {
        return;
    }
    const sample_trace_functions* const untold = sample_trace_module.functions->listen(&listener);
    if (untold != nullptr) {
        detail::g_recording.store(untold, std::memory_order_relaxed);
    }
}

}  // namespace sample::unity
