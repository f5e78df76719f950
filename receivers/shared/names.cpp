#include "receivers/shared/names.h"

#include "receivers/shared/arena.h"
#include "receivers/shared/key_table.h"
#include "receivers/shared/text.h"

#include <array>
#include <cstdarg>
#include <cstring>

namespace sample::receivers {
namespace {

constexpr std::size_t kBuckets = 4096;
constexpr std::string_view kOverflowText = "[a name more than there is room for]";

struct OverflowName {
    Name name;
    std::array<char, kOverflowText.size() + 1> text;
};

std::array<std::atomic<Name*>, kBuckets> g_buckets;
std::atomic<std::uint32_t> g_names{0};
OverflowName g_overflow;
KeyTable<std::size_t{1} << 16U> g_definitions;

Name* find(Name* first, const Name* last, std::uint64_t hash, std::string_view text) noexcept {
    for (Name* name = first; name != last; name = name->next) {
        if (name->hash == hash && std::string_view{name->text(), name->bytes} == text) {
            return name;
        }
    }
    return nullptr;
}

Name* overflow() noexcept {
    std::memcpy(g_overflow.text.data(), kOverflowText.data(), kOverflowText.size());
    g_overflow.name.bytes = static_cast<std::uint32_t>(kOverflowText.size());
    g_overflow.name.number = kMostNames + 1;
    return &g_overflow.name;
}

/// Null: there is no room.
Name* make(std::uint64_t hash, std::string_view text) noexcept {
    std::uint32_t before = g_names.load(std::memory_order_relaxed);
    do {
        if (before >= kMostNames) {
            return nullptr;
        }
    } while (!g_names.compare_exchange_weak(before, before + 1, std::memory_order_relaxed));
    auto* const name = static_cast<Name*>(keep(sizeof(Name) + text.size() + 1));
    if (name != nullptr) {
        name->number = before + 1;
        name->hash = hash;
        name->bytes = static_cast<std::uint32_t>(text.size());
        std::memcpy(static_cast<void*>(name + 1), text.data(), text.size());
    }
    return name;
}

__attribute__((format(printf, 2, 3))) void say(std::uint32_t message, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    sample_trace_module.functions->message(message, format, arguments);
    va_end(arguments);
}

}  // namespace

Name* name_of(std::string_view text) noexcept {
    const std::uint64_t hash = hash_of(text);
    std::atomic<Name*>& bucket = g_buckets[hash % kBuckets];
    // Pairs with the release below.
    Name* first = bucket.load(std::memory_order_acquire);
    if (Name* const known = find(first, nullptr, hash, text); known != nullptr) {
        return known;
    }
    Name* const made = make(hash, text);
    if (made == nullptr) {
        return overflow();
    }
    for (;;) {
        made->next = first;
        const Name* const looked_at = first;
        if (bucket.compare_exchange_strong(first, made, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
            return made;
        }
        if (Name* const known = find(first, looked_at, hash, text); known != nullptr) {
            return known;
        }
    }
}

Name* name_at(const char* text) noexcept {
    static constinit std::array<std::atomic<Name*>, 512> said{};
    constexpr unsigned kShift = 64 - 9;
    // Pairs with the release below.
    std::atomic<Name*>& last =
        said[reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15U >> kShift];
    Name* name = last.load(std::memory_order_acquire);
    if (name == nullptr || std::strcmp(name->text(), text) != 0) {
        name = name_of(Text{text}.view());
        last.store(name, std::memory_order_release);
    }
    return name;
}

Name& FixedName::get() noexcept {
    // Pairs with the release below.
    Name* name = name_.load(std::memory_order_acquire);
    if (name == nullptr) {
        name = name_of(std::string_view{text_});
        name_.store(name, std::memory_order_release);
    }
    return *name;
}

std::uint32_t detail::find_definition(std::uint8_t kind, const Name& name, const Name* category,
                                      std::uint32_t colour) noexcept {
    const std::uint64_t known_by = key_of(kind, category, colour);
    const std::uint64_t key = mix(known_by, &name);
    std::uint64_t definition = g_definitions.find(key);
    if (definition == 0) {
        definition = sample_trace_define_dynamic_(kind, name.text(),
                                                  category == nullptr ? nullptr : category->text(),
                                                  kind == SAMPLE_TRACE_KIND_ZONE ? colour : 0);
        if (definition == 0) {
            return 0;
        }
        g_definitions.put(key, definition);
    }
    if (definition >> kDefinitionBits == 0) {
        name.definition.store(known_by << kDefinitionBits | definition, std::memory_order_relaxed);
    }
    return static_cast<std::uint32_t>(definition);
}

void bookmark(Name& category, const char* text) noexcept {
    std::uint32_t definition = category.bookmark.load(std::memory_order_relaxed);
    if (definition == 0) {
        definition =
            sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_BOOKMARK, "%s", category.text(), 0);
        category.bookmark.store(definition, std::memory_order_relaxed);
    }
    if (definition != 0) {
        say(definition, "%s", text);
    }
}

}  // namespace sample::receivers
