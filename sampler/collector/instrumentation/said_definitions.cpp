#include "sampler/collector/instrumentation/said_definitions.h"

#include "sample/trace_abi.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sample::collector {
namespace {

using capture::DefinitionKind;
using capture::DefinitionStore;

/// Definitions may share their bytes, if the process so wants.
constexpr std::size_t kMostEventTypes = 4096;
/// Of heaps and tags.
constexpr unsigned kMostNesting = 64;
constexpr const char* kNameless = "[no room for its name]";

/// A copy of a definition's bytes. Empty: there is no such definition.
std::vector<std::byte> definition(const DefinitionStore& store, std::uint32_t number) {
    if (number == 0 || number >= capture::kMostDefinitions) {
        return {};
    }
    // Pairs with the release by which it was committed.
    const std::uint32_t place = store.places[number].load(std::memory_order_acquire);
    constexpr std::size_t kHeadWords = (sizeof(capture::Definition) + 7) / 8;
    if (place == 0 || place > store.text.size() - kHeadWords) {
        return {};
    }
    capture::Definition head;
    std::memcpy(static_cast<void*>(&head), &store.text[place - 1], sizeof head);
    const std::size_t room = (store.text.size() - (place - 1)) * 8;
    if (head.bytes < sizeof head || head.bytes > room) {
        return {};
    }
    std::vector<std::byte> bytes(head.bytes);
    std::memcpy(bytes.data(), &store.text[place - 1], bytes.size());
    std::memcpy(bytes.data(), &head, sizeof head);  // it may be another one by now
    return bytes;
}

/// Whether a field can be of that type: a number, an array of these, or text.
bool is_field_type(std::uint8_t code) {
    if (code == 0x88 || code == 0x89) {
        return true;
    }
    const unsigned element = code & ~0x80U;
    return element <= 0x03 || (element >= 0x10 && element <= 0x13) || element == 0x42 ||
           element == 0x43;
}

/// None: it is no type. Loggers whose events are the recording's own are not the program's.
std::optional<trace::EventTypeSpec> event_type_in(const capture::Definition& head,
                                                  SaidReader& reader) {
    constexpr std::size_t kMostNameBytes = 255;
    trace::EventTypeSpec spec;
    spec.flags = head.flags & (SAMPLE_TRACE_IMPORTANT | SAMPLE_TRACE_NO_SYNC);
    spec.logger = reader.take_text();
    spec.name = reader.take_text();
    bool is_good = !spec.logger.empty() && !spec.name.empty() && spec.logger.front() != '$' &&
                   spec.logger != "Sample" && spec.logger.size() <= kMostNameBytes &&
                   spec.name.size() <= kMostNameBytes;
    while (is_good && reader.ok() && !reader.is_at_end()) {
        const auto code = reader.take<std::uint8_t>();
        spec.fields.push_back({std::string{reader.take_text()}, code});
        is_good = is_field_type(code) && spec.fields.back().name.size() <= kMostNameBytes &&
                  spec.fields.size() <= capture::kMostEventFields;
    }
    if (!is_good || !reader.ok()) {
        return {};
    }
    return spec;
}

}  // namespace

SaidDefinitions::Known SaidDefinitions::read_event_type(const capture::Definition& head,
                                                        SaidReader& reader) {
    auto spec = event_type_in(head, reader);
    if (!spec || event_types_.size() >= kMostEventTypes) {
        return {};
    }
    spec->id = names_.event_type(*spec);
    if (spec->id.is_none()) {
        return {};
    }
    event_types_.push_back(std::move(*spec));
    return {head.kind, static_cast<std::uint32_t>(event_types_.size())};
}

SaidDefinitions::Known SaidDefinitions::read(std::uint32_t number) {
    const std::vector<std::byte> bytes = definition(store_, number);
    SaidReader reader{bytes};
    const auto head = reader.take<capture::Definition>();
    if (head.kind == DefinitionKind::event_type) {
        return read_event_type(head, reader);
    }
    Texts texts;
    texts.name = reader.take_text();
    texts.category = reader.take_text();
    texts.file = reader.take_text();
    if (!reader.ok()) {
        return {};
    }
    return {head.kind, id_for(number, head, texts)};
}

std::uint32_t SaidDefinitions::id_for(std::uint32_t number, const capture::Definition& head,
                                      const Texts& texts) {
    const auto& [name, category, file] = texts;
    switch (head.kind) {
        case DefinitionKind::zone:
            return names_.zone({{}, name, category, head.number, file, head.line}).value;
        case DefinitionKind::integer_counter:
        case DefinitionKind::real_counter:
        case DefinitionKind::memory_counter: {
            const bool is_real = head.kind == DefinitionKind::real_counter;
            const bool is_memory = head.kind == DefinitionKind::memory_counter;
            return names_.counter({{}, process_, name, is_real, is_memory}).value;
        }
        case DefinitionKind::region:
            regions_.push_back({name, category});
            return static_cast<std::uint32_t>(regions_.size());
        case DefinitionKind::bookmark:
        case DefinitionKind::log: {
            const auto verbosity = static_cast<trace::Verbosity>(std::min<std::uint8_t>(
                head.flags, static_cast<std::uint8_t>(trace::Verbosity::very_verbose)));
            const bool is_bookmark = head.kind == DefinitionKind::bookmark;
            return names_.message({{}, is_bookmark, category, verbosity, name, file, head.line})
                .value;
        }
        case DefinitionKind::frame:
            names_.frame_kind({static_cast<std::uint8_t>(head.number), name});
            break;
        case DefinitionKind::channel:
            return names_.channel({{}, name, head.flags != 0, false}).value;
        case DefinitionKind::memory_heap:
            return names_.heap({{}, name, trace::HeapId{parent_of(number, head)}}).value;
        case DefinitionKind::memory_tag:
            return names_.memory_tag({{}, name, trace::MemoryTagId{parent_of(number, head)}}).value;
        case DefinitionKind::event_type:
        case DefinitionKind::event:
            break;
    }
    return 0;
}

std::uint32_t SaidDefinitions::parent_of(std::uint32_t number, const capture::Definition& head) {
    // A parent is defined before: who refers to a later one makes no circle.
    if (head.number >= number || nesting_ >= kMostNesting) {
        return 0;
    }
    ++nesting_;
    const std::optional<Known> parent = known(head.number);
    --nesting_;
    return parent && parent->kind == head.kind ? parent->id : 0;
}

std::optional<SaidDefinitions::Known> SaidDefinitions::known(std::uint32_t number) {
    if (number < known_.size() && known_[number].id != 0) {
        return known_[number];
    }
    const Known found = read(number);
    if (found.id == 0) {
        return {};
    }
    if (number >= known_.size()) {
        known_.resize(number + std::size_t{1});
    }
    known_[number] = found;
    return found;
}

std::uint32_t SaidDefinitions::id_of(std::uint32_t number, DefinitionKind kind) {
    const auto found = known(number);
    if (!found || found->kind != kind) {
        ++dropped_;
        return 0;
    }
    return found->id;
}

trace::ZoneId SaidDefinitions::new_zone(std::uint32_t number) {
    const auto found = known(number);
    return found && found->kind == DefinitionKind::zone ? trace::ZoneId{found->id}
                                                        : names_.zone({{}, kNameless});
}

void SaidDefinitions::take_announced(Unwritten unwritten, const TakeEvent& take_event) {
    // Pairs with the release in copy_definitions().
    const std::uint32_t last =
        std::min<std::uint32_t>(store_.next.load(std::memory_order_acquire),
                                static_cast<std::uint32_t>(capture::kMostDefinitions - 1));
    announced_ =
        std::max(announced_, std::min(last, store_.inherited.load(std::memory_order_relaxed)));
    while (announced_ < last) {
        const std::vector<std::byte> bytes = definition(store_, announced_ + 1);
        if (bytes.empty() && unwritten == Unwritten::wait) {
            return;
        }
        ++announced_;
        if (!bytes.empty()) {
            announce(announced_, bytes, take_event);
        }
    }
}

void SaidDefinitions::announce(std::uint32_t number, std::span<const std::byte> bytes,
                               const TakeEvent& take_event) {
    SaidReader reader{bytes};
    const auto head = reader.take<capture::Definition>();
    if (head.kind == DefinitionKind::channel || head.kind == DefinitionKind::frame) {
        static_cast<void>(known(number));
    } else if (head.kind == DefinitionKind::event) {
        take_event(head.number, bytes.subspan(sizeof head));
    }
}

}  // namespace sample::collector
