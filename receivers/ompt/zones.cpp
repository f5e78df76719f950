#include "receivers/ompt/zones.h"

#include "receivers/shared/code.h"
#include "receivers/shared/key_table.h"
#include "receivers/shared/thread_state.h"

SAMPLE_TRACE_CHANNEL_DEFINE(openmp);

namespace sample::ompt {
namespace {

using receivers::mix;
using receivers::Name;

constinit receivers::FixedName g_category{"OpenMP"};

/// By address of code: it in words.
receivers::KeyTable<8192> g_addresses;

const char* words_of(const void* code) noexcept {
    const std::uint64_t key = mix(1, code);
    if (const std::uint64_t known = g_addresses.find(key); known != 0) {
        return reinterpret_cast<const Name*>(known)->text();
    }
    const Name* const name = receivers::name_of(receivers::words_of_code(code).view());
    g_addresses.put(key, reinterpret_cast<std::uintptr_t>(name));
    return name->text();
}

std::uint64_t key_of(ZoneKind kind, const void* key) noexcept {
    return mix(static_cast<std::uint64_t>(kind), key);
}

}  // namespace

void begin_zone(ZoneKind kind, const void* key, const char* name, const void* code) noexcept {
    receivers::ThreadState* const thread = receivers::thread_state();
    if (thread == nullptr ||
        !thread->zones.begin(key_of(kind, key), SAMPLE_TRACE_IS_ON(::openmp))) {
        return;
    }
    const std::uint32_t zone = receivers::definition_of(
        SAMPLE_TRACE_KIND_ZONE, *receivers::name_at(name), &g_category.get());
    if (code == nullptr) {
        sample_trace_module.functions->begin_zone(zone);
        return;
    }
    const sample_trace_value address = sample_trace_text("address", words_of(code));
    sample_trace_module.functions->begin_noted_zone(zone, &address, 1);
}

void end_zone(ZoneKind kind, const void* key) noexcept {
    if (receivers::ThreadState* const thread = receivers::thread_state(); thread != nullptr) {
        static_cast<void>(thread->zones.end(key_of(kind, key)));
    }
}

bool is_open(ZoneKind kind, const void* key) noexcept {
    const receivers::ThreadState* const thread = receivers::thread_state();
    return thread != nullptr && thread->zones.open(key_of(kind, key)) != 0;
}

}  // namespace sample::ompt
