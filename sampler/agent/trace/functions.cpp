// What programs call that include sample/trace.h: a table, and the note by which they find it.
//
// The table is what is shared between builds; all that it leads to is in instrument/. It lies on a
// page of its own, which is written only when somebody begins or ends to listen (listening.h).
#include "sample/trace_abi.h"
#include "sampler/agent/trace/channels.h"
#include "sampler/agent/trace/listening.h"
#include "sampler/capture/capture.h"
#include "sampler/instrument/call_stacks.h"
#include "sampler/instrument/definitions.h"
#include "sampler/instrument/events.h"
#include "sampler/instrument/lane_writer.h"
#include "sampler/instrument/said_bytes.h"

#include <cstring>

namespace sample::agent {
namespace {

using capture::OtherKind;
using instrument::SaidBytes;

static_assert(SAMPLE_TRACE_KIND_FRAME == static_cast<int>(capture::DefinitionKind::frame));

std::uint32_t define(const sample_trace_place* place) noexcept {
    capture::Definition definition;
    definition.kind = static_cast<capture::DefinitionKind>(place->kind);
    definition.flags = place->flags;
    definition.line = place->line;
    definition.number = place->number;
    return instrument::define(definition, {place->name, place->category, place->file});
}

void begin_noted_zone(std::uint32_t zone, const sample_trace_value* values,
                      std::size_t count) noexcept {
    SaidBytes said;
    instrument::add_values(said, {values, count});
    instrument::begin_noted_zone(zone, said.bytes());
}

void frame(std::uint32_t kind, std::uint32_t is_begin) noexcept {
    instrument::say(is_begin != 0 ? OtherKind::frame_begin : OtherKind::frame_end, kind);
}

std::uint64_t new_number() noexcept {
    capture::DefinitionStore* const store =
        capture::g_attached->definitions.load(std::memory_order_acquire);
    return store == nullptr ? 0 : store->next_flow.fetch_add(1, std::memory_order_relaxed) + 1;
}

void say_number(OtherKind kind, std::uint32_t argument, std::uint64_t number) noexcept {
    instrument::say(kind, argument, std::as_bytes(std::span{&number, 1}));
}

void begin_region(std::uint32_t region, std::uint64_t number) noexcept {
    say_number(OtherKind::region_begin, region, number);
}

void end_region(std::uint32_t region, std::uint64_t number) noexcept {
    say_number(OtherKind::region_end, region, number);
}

void say_text(OtherKind kind, const char* text) noexcept {
    SaidBytes said;
    said.add_text(text);
    instrument::say(kind, 0, said.bytes());
}

void message(std::uint32_t message, const char* format, std::va_list arguments) noexcept {
    SaidBytes said;
    instrument::add_arguments(said, format, arguments);
    instrument::say(OtherKind::message, message, said.bytes());
}

void memory_alloc(const sample_trace_allocation* allocation) noexcept {
    std::uint32_t call_stack = 0;
    if ((allocation->flags & SAMPLE_TRACE_WITH_STACK) != 0) {
        const unwind::Registers here = instrument::registers_here();
        call_stack = instrument::call_stack(here);
    }
    instrument::allocate({allocation->address, allocation->bytes, allocation->alignment,
                          allocation->heap, call_stack,
                          (allocation->flags & SAMPLE_TRACE_REALLOCATED) != 0});
}

void memory_free(std::uint32_t heap, std::uint64_t address, std::uint32_t flags) noexcept {
    instrument::free(address, heap, (flags & SAMPLE_TRACE_REALLOCATED) != 0);
}

constexpr sample_trace_functions kDirect = {
    SAMPLE_TRACE_VERSION,
    sizeof(sample_trace_functions),
    define,
    instrument::begin_zone,
    instrument::end_zone,
    begin_noted_zone,
    instrument::suspend,
    instrument::resume,
    instrument::count,
    frame,
    new_number,
    begin_region,
    end_region,
    message,
    [](const char* name) { say_text(OtherKind::thread_name, name); },
    [](const char* group) { say_text(OtherKind::thread_group, group); },
    [](std::uint64_t number, std::uint32_t step) { say_number(OtherKind::flow, step, number); },
    [](const sample_trace_channel* channel) { add_channel(*channel); },
    [](const sample_trace_channel* channel) { remove_channel(*channel); },
    [](const sample_trace_event_type* type) { return instrument::define_event_type(*type); },
    [](const sample_trace_event* event) -> std::uint32_t {
        return instrument::raise_event(*event) ? 1 : 0;
    },
    instrument::end_scope,
    memory_alloc,
    memory_free,
    instrument::set_memory_tag,
    [](std::uint32_t definition, sample_trace_place* place) -> std::uint32_t {
        return instrument::describe(definition, *place) ? 1 : 0;
    },
    [](const sample_trace_listener* listener) -> const sample_trace_functions* {
        return listen(listener) ? &kDirect : nullptr;
    },
};

}  // namespace

const sample_trace_functions& direct_functions() noexcept {
    return kDirect;
}

}  // namespace sample::agent

// Among what is relocated, which the loader makes read-only.
[[gnu::section(".data.rel.ro.sample_trace")]] constinit sample::agent::TablePage
    sample_agent_trace_functions = {sample::agent::kDirect, {}};

static_assert(SAMPLE_TRACE_NOTE == 1);
asm(R"(
    .pushsection .note.sample, "a", @note
    .balign 4
    .long 7, 8, 1
    .asciz "sample"
    .balign 4
0:  .quad sample_agent_trace_functions - 0b
    .popsection
)");
