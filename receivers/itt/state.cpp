#include "receivers/itt/state.h"

SAMPLE_TRACE_CHANNEL_DEFINE(itt);

namespace sample::itt {
namespace {

using receivers::definition_of;
using receivers::Name;

constexpr unsigned kDefinitionBits = 16;

}  // namespace

constinit std::atomic<bool> g_is_paused{false};
constinit std::atomic<bool> g_is_detached{false};
constinit receivers::Unmatched g_unmatched{"ITT"};
constinit receivers::KeyTable<8192> g_regions;

void begin_zone(std::uint64_t key, const Name& name, const Name& category) noexcept {
    receivers::ThreadState* const thread = receivers::thread_state();
    if (thread != nullptr && thread->zones.begin(key, is_on())) {
        agent().begin_zone(definition_of(SAMPLE_TRACE_KIND_ZONE, name, &category));
    }
}

bool end_zone_if_any(std::uint64_t key) noexcept {
    receivers::ThreadState* const thread = receivers::thread_state();
    return thread == nullptr || thread->zones.end(key);
}

void end_zone(std::uint64_t key) noexcept {
    if (!end_zone_if_any(key) && is_on()) {
        g_unmatched.count();
    }
}

void note(const char* name, const Name& category, const sample_trace_value* values,
          std::size_t count) noexcept {
    agent().begin_noted_zone(
        definition_of(SAMPLE_TRACE_KIND_ZONE, *receivers::name_of(name), &category), values, count);
    agent().end_zone();
}

void begin_region(std::uint64_t key, const Name& name, const Name& category) noexcept {
    if (!is_on()) {
        return;
    }
    end_region(key);
    const std::uint32_t definition = definition_of(SAMPLE_TRACE_KIND_REGION, name, &category);
    const std::uint64_t number = agent().new_number();
    if (definition != 0 && g_regions.put(key, number << kDefinitionBits | definition)) {
        agent().begin_region(definition, number);
    }
}

void end_region(std::uint64_t key) noexcept {
    if (const std::uint64_t open = g_regions.take(key); open != 0) {
        agent().end_region(static_cast<std::uint32_t>(open & ((1U << kDefinitionBits) - 1)),
                           open >> kDefinitionBits);
    }
}

}  // namespace sample::itt
