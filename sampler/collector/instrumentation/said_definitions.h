// What one process has defined (capture/definition_store.h): which names of the recording its
// numbers stand for.
//
// The store is the process's to scribble on: each word of a definition is read once, and what does
// not parse is none. A definition is committed before who says something can know its number. Not
// thread-safe.
#pragma once

#include "core/ids.h"
#include "sampler/capture/definition_store.h"
#include "sampler/collector/instrumentation/said_names.h"
#include "sampler/collector/instrumentation/said_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::collector {

class SaidDefinitions {
public:
    /// A definition that was read.
    struct Known {
        capture::DefinitionKind kind{};
        std::uint32_t id = 0;  ///< 0: it is none.
    };
    struct Region {
        std::string name;
        std::string category;
    };
    /// What becomes of a definition that was begun and is not finished.
    enum class Unwritten : std::uint8_t {
        wait,  ///< It and those behind it are taken the next time.
        skip,  ///< Nobody writes any more.
    };
    /// The number of an Important event's type, and what it says.
    using TakeEvent = std::function<void(std::uint32_t type, std::span<const std::byte> said)>;

    /// Both outlive it.
    SaidDefinitions(const capture::DefinitionStore& store, SaidNames& names)
        : store_{store}, names_{names} {}

    void begin(ProcessId process) { process_ = process; }

    [[nodiscard]] std::optional<Known> known(std::uint32_t number);
    /// 0, and one more that is dropped: there is none of this kind.
    [[nodiscard]] std::uint32_t id_of(std::uint32_t number, capture::DefinitionKind kind);
    /// One without a name where there is none.
    [[nodiscard]] trace::ZoneId zone_of(std::uint32_t number) {
        if (number < known_.size() && known_[number].id != 0 &&
            known_[number].kind == capture::DefinitionKind::zone) {
            return trace::ZoneId{known_[number].id};
        }
        return new_zone(number);
    }
    /// Of an id that id_of() returned for such a kind.
    [[nodiscard]] const Region& region(std::uint32_t id) const { return regions_[id - 1]; }
    [[nodiscard]] const trace::EventTypeSpec& event_type(std::uint32_t id) const {
        return event_types_[id - 1];
    }

    /// Reads the channels and kinds of frames that were defined since the last time, and calls
    /// `take_event` for Important events.
    void take_announced(Unwritten unwritten, const TakeEvent& take_event);

    /// Numbers that stand for nothing.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    struct Texts {
        std::string name;
        std::string category;
        std::string file;
    };

    [[nodiscard]] Known read(std::uint32_t number);
    [[nodiscard]] trace::ZoneId new_zone(std::uint32_t number);
    [[nodiscard]] Known read_event_type(const capture::Definition& head, SaidReader& reader);
    [[nodiscard]] std::uint32_t id_for(std::uint32_t number, const capture::Definition& head,
                                       const Texts& texts);
    /// A heap's or tag's: its id, or 0.
    [[nodiscard]] std::uint32_t parent_of(std::uint32_t number, const capture::Definition& head);
    void announce(std::uint32_t number, std::span<const std::byte> bytes,
                  const TakeEvent& take_event);

    const capture::DefinitionStore& store_;
    SaidNames& names_;
    ProcessId process_;
    std::vector<Known> known_;                       ///< By number.
    std::vector<Region> regions_;                    ///< By Known::id less one.
    std::vector<trace::EventTypeSpec> event_types_;  ///< By Known::id less one.
    unsigned nesting_ = 0;                           ///< Of heaps or tags that are being read.
    std::uint32_t announced_ = 0;                    ///< Numbers that were looked at.
    std::uint64_t dropped_ = 0;
};

}  // namespace sample::collector
