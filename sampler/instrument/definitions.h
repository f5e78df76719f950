// What a process says once: the agent's side of capture/definition_store.h.
//
// Async-signal-safe, thread-safe, no lock. Not for each event: it costs a hash of the text.
#pragma once

#include "sample/trace_abi.h"
#include "sampler/capture/definition_store.h"

#include <cstddef>
#include <cstdint>

namespace sample::instrument {

/// Texts: null is empty.
struct DefinedTexts {
    const char* name = nullptr;
    const char* category = nullptr;
    const char* file = nullptr;
};

/// The number of such a definition, an old one's if it is equal. 0: there is no room, or nobody
/// listens. `head.bytes` is of no matter. Texts that are too long are cut.
[[nodiscard]] std::uint32_t define(capture::Definition head, const DefinedTexts& texts) noexcept;

/// What such a definition says: its texts stay while the store does. False: there is none of this
/// number, or it is not made of these.
[[nodiscard]] bool describe(std::uint32_t number, sample_trace_place& place) noexcept;

/// The same as define() for a type of events; one whose names are too long has none.
[[nodiscard]] std::uint32_t define_event_type(const sample_trace_event_type& type) noexcept;

/// Where an Important event's fields are to be written, which is kept with the definitions. Null:
/// there is no room, of which such events get half, or nobody listens.
struct KeptRoom {
    std::byte* said = nullptr;
    capture::DefinitionStore* store = nullptr;
    std::uint32_t number = 0;
    std::uint32_t place = 0;
};
/// `bytes`: at most kMostEventBytes. Needs its commit_kept().
[[nodiscard]] KeptRoom reserve_kept(std::size_t bytes) noexcept;
void commit_kept(const KeptRoom& room, std::size_t bytes, std::uint32_t type) noexcept;

/// In a forked child that joins: `to` gets what `from`, its parent's, has
/// but its events. Others may go on to
/// write to `from`.
void copy_definitions(const capture::DefinitionStore& from, capture::DefinitionStore& to) noexcept;

}  // namespace sample::instrument
