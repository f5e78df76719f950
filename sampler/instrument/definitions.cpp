#include "sampler/instrument/definitions.h"

#include "sampler/capture/capture.h"

#include <algorithm>
#include <array>
#include <span>

namespace sample::instrument {
namespace {

using capture::Definition;
using capture::DefinitionStore;
using capture::kMostDefinitionBytes;
using capture::kMostDefinitions;

constexpr std::size_t kTextWords = std::tuple_size_v<decltype(DefinitionStore::text)>;
constexpr std::size_t kProbes = 32;

struct Bytes {
    alignas(8) std::array<std::byte, kMostDefinitionBytes> data;
    std::size_t size = 0;
};

/// Leaves room for `behind` bytes.
void append(Bytes& bytes, const char* text, std::size_t behind) noexcept {
    if (text != nullptr) {
        for (; *text != '\0' && bytes.size + behind + 1 < bytes.data.size(); ++text) {
            bytes.data[bytes.size++] = static_cast<std::byte>(*text);
        }
    }
    bytes.data[bytes.size++] = std::byte{0};
}

std::uint64_t hash(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (const std::byte byte : bytes) {
        hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3U;
    }
    return hash ^ hash >> 32U;
}

/// Empty: there is none of this number.
std::span<const std::byte> definition(const DefinitionStore& store, std::uint32_t number) noexcept {
    // Pairs with the release in add().
    const std::uint32_t place =
        number < kMostDefinitions ? store.places[number].load(std::memory_order_acquire) : 0;
    if (place == 0 || place > kTextWords - kMostDefinitionBytes / 8) {
        return {};
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&store.text[place - 1]);
    Definition head;
    __builtin_memcpy(&head, bytes, sizeof head);
    return {bytes, std::min<std::size_t>(head.bytes, kMostDefinitionBytes)};
}

capture::DefinitionKind kind_of(std::span<const std::byte> bytes) noexcept {
    Definition head;
    __builtin_memcpy(&head, bytes.data(), sizeof head);
    return head.kind;
}

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

void put(DefinitionStore& store, std::uint32_t number, std::uint32_t place,
         std::span<const std::byte> bytes) noexcept {
    __builtin_memcpy(&store.text[place], bytes.data(), bytes.size());
    // What was written before it is seen with it.
    store.places[number].store(place + 1, std::memory_order_release);
}

constexpr std::size_t kMostWords = kTextWords - kMostDefinitionBytes / 8;

struct Reserved {
    std::uint32_t number = 0;  ///< 0: no room.
    std::uint32_t place = 0;
};

/// Within the first `most_words` and `most_numbers`.
Reserved reserve(DefinitionStore& store, std::size_t bytes, std::size_t most_words,
                 std::size_t most_numbers) noexcept {
    const auto words = static_cast<std::uint32_t>((bytes + 7) / 8);
    // Asked before, as well: who asks again and again must not make them wrap around.
    if (store.next.load(std::memory_order_relaxed) + 1 >= most_numbers ||
        store.text_used.load(std::memory_order_relaxed) + words >= most_words) {
        return {};
    }
    const std::uint32_t place = store.text_used.fetch_add(words, std::memory_order_relaxed);
    const std::uint32_t number = store.next.fetch_add(1, std::memory_order_relaxed) + 1;
    if (place + words >= kMostWords || number >= kMostDefinitions) {
        return {};
    }
    return {number, place};
}

/// 0: no room.
std::uint32_t add(DefinitionStore& store, std::span<const std::byte> bytes) noexcept {
    const Reserved room = reserve(store, bytes.size(), kMostWords, kMostDefinitions);
    if (room.number != 0) {
        put(store, room.number, room.place, bytes);
    }
    return room.number;
}

/// The number of those bytes; `make` is called once, where they have none yet.
template <class Make>
std::uint32_t find(DefinitionStore& store, std::span<const std::byte> bytes, Make make) noexcept {
    const std::uint64_t home = hash(bytes);
    std::uint32_t made = 0;
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
        auto& entry = store.by_content[(home + probe) % store.by_content.size()];
        std::uint32_t number = entry.load(std::memory_order_acquire);
        if (number == 0) {
            made = made != 0 ? made : make();
            if (made == 0 ||
                entry.compare_exchange_strong(number, made, std::memory_order_acq_rel)) {
                return made;
            }
        }
        if (is_equal(definition(store, number), bytes)) {
            return number;
        }
    }
    return made != 0 ? made : make();
}

/// `head` is written to the beginning of `bytes`, and counts them.
std::uint32_t define(DefinitionStore& store, Definition head, Bytes& bytes) noexcept {
    head.bytes = static_cast<std::uint16_t>(bytes.size);
    __builtin_memcpy(bytes.data.data(), &head, sizeof head);
    const std::span<const std::byte> all{bytes.data.data(), bytes.size};
    return find(store, all, [&] { return add(store, all); });
}

}  // namespace

std::uint32_t define(Definition head, const DefinedTexts& texts) noexcept {
    DefinitionStore* const store = capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr) {
        return 0;
    }
    Bytes bytes;
    bytes.size = sizeof head;
    append(bytes, texts.name, 160);
    append(bytes, texts.category, 96);
    append(bytes, texts.file, 0);
    return define(*store, head, bytes);
}

bool describe(std::uint32_t number, sample_trace_place& place) noexcept {
    const DefinitionStore* const store =
        capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr) {
        return false;
    }
    const std::span<const std::byte> bytes = definition(*store, number);
    if (bytes.size() < sizeof(Definition) + 3) {
        return false;
    }
    Definition head;
    __builtin_memcpy(&head, bytes.data(), sizeof head);
    if (head.kind == capture::DefinitionKind::event_type ||
        head.kind == capture::DefinitionKind::event) {
        return false;
    }
    place = {};
    std::size_t at = sizeof head;
    for (const char** text : {&place.name, &place.category, &place.file}) {
        *text = reinterpret_cast<const char*>(bytes.data()) + at;
        while (at < bytes.size() && bytes[at] != std::byte{0}) {
            ++at;
        }
        if (at++ >= bytes.size()) {
            return false;
        }
    }
    place.line = head.line;
    place.number = head.number;
    place.kind = static_cast<std::uint8_t>(head.kind);
    place.flags = head.flags;
    place.id = number;
    return true;
}

std::uint32_t define_event_type(const sample_trace_event_type& type) noexcept {
    DefinitionStore* const store = capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr || type.field_count > capture::kMostEventFields) {
        return 0;
    }
    Bytes bytes;
    bytes.size = sizeof(Definition);
    // What does not fit leaves less than this; a name that is cut would be another one's.
    constexpr std::size_t kBehind = 2;
    append(bytes, type.logger, kBehind);
    append(bytes, type.name, kBehind);
    for (std::uint32_t i = 0; i < type.field_count && bytes.size + kBehind < bytes.data.size();
         ++i) {
        bytes.data[bytes.size++] = static_cast<std::byte>(type.fields[i].type);
        append(bytes, type.fields[i].name, kBehind);
    }
    if (bytes.size + kBehind >= bytes.data.size()) {
        return 0;
    }
    Definition head;
    head.kind = capture::DefinitionKind::event_type;
    head.flags = static_cast<std::uint8_t>(type.flags);
    head.number = type.field_count;
    return define(*store, head, bytes);
}

KeptRoom reserve_kept(std::size_t bytes) noexcept {
    DefinitionStore* const store = capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr) {
        return {};
    }
    const Reserved room =
        reserve(*store, sizeof(Definition) + bytes, kMostWords / 2, kMostDefinitions / 2);
    if (room.number == 0) {
        return {};
    }
    auto* const at = reinterpret_cast<std::byte*>(&store->text[room.place]);
    return {at + sizeof(Definition), store, room.number, room.place};
}

void commit_kept(const KeptRoom& room, std::size_t bytes, std::uint32_t type) noexcept {
    Definition head;
    head.bytes = static_cast<std::uint16_t>(sizeof head + bytes);
    head.kind = capture::DefinitionKind::event;
    head.number = type;
    __builtin_memcpy(room.said - sizeof head, &head, sizeof head);
    // What was written before it is seen with it.
    room.store->places[room.number].store(room.place + 1, std::memory_order_release);
}

void copy_definitions(const DefinitionStore& from, DefinitionStore& to) noexcept {
    const std::uint32_t last =
        std::min<std::uint32_t>(from.next.load(std::memory_order_relaxed),
                                static_cast<std::uint32_t>(kMostDefinitions - 1));
    // Numbers and room that somebody was about to use then stay unused.
    to.inherited.store(last, std::memory_order_relaxed);
    // Pairs with the acquire of who announces what is new.
    to.next.store(last, std::memory_order_release);
    to.text_used.store(from.text_used.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.next_flow.store(from.next_flow.load(std::memory_order_relaxed), std::memory_order_relaxed);
    for (std::uint32_t number = 1; number <= last; ++number) {
        const std::span<const std::byte> bytes = definition(from, number);
        if (!bytes.empty() && kind_of(bytes) != capture::DefinitionKind::event) {
            put(to, number, from.places[number].load(std::memory_order_relaxed) - 1, bytes);
            find(to, bytes, [number] { return number; });
        }
    }
}

}  // namespace sample::instrument
