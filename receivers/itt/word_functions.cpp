// Markers and marks are bookmarks. Events are regions, as each thread may begin and end them in any
// order. Metadata comes when what it belongs to has begun: it is a zone of no length, "metadata",
// with the value.
#include "receivers/itt/functions.h"
#include "receivers/itt/handles.h"
#include "receivers/itt/state.h"
#include "receivers/shared/text.h"

#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace sample::itt {
namespace {

using receivers::mix;
using receivers::Text;

constexpr std::uint64_t kEvent = 4;
constexpr std::size_t kMostListed = 16;

Name& category() noexcept {
    return name_of(static_cast<const Domain*>(nullptr));
}

void marker(const Domain* domain, Id /*id*/, const StringHandle* name, int /*scope*/) noexcept {
    if (is_on()) {
        receivers::bookmark(name_of(domain), name_of(name).text());
    }
}
void marker_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/, Id id,
               const StringHandle* name, int scope) noexcept {
    marker(domain, id, name, scope);
}

// Marks and events are numbers, behind which are names.
constexpr std::size_t kMostNumbers = 4096;
std::array<std::atomic<Name*>, kMostNumbers> g_named;
std::atomic<int> g_last_number{0};

/// The same for the same name. 0: there are none left.
int number_of(Name* name) noexcept {
    const int last = g_last_number.load(std::memory_order_acquire);
    for (int number = 1; number <= last; ++number) {
        if (g_named[static_cast<std::size_t>(number)].load(std::memory_order_acquire) == name) {
            return number;
        }
    }
    int taken = last;
    do {
        if (taken + 1 >= static_cast<int>(kMostNumbers)) {
            return 0;
        }
    } while (!g_last_number.compare_exchange_weak(taken, taken + 1));
    g_named[static_cast<std::size_t>(taken) + 1].store(name, std::memory_order_release);
    return taken + 1;
}

/// Null: there is none.
Name* named(int number) noexcept {
    return number > 0 && number < static_cast<int>(kMostNumbers)
               ? g_named[static_cast<std::size_t>(number)].load(std::memory_order_acquire)
               : nullptr;
}

template <class Letter>
int mark_create(const Letter* name) noexcept {
    return number_of(receivers::name_of(Text{name}.view()));
}
template <class Letter>
int mark(int number, const Letter* parameter) noexcept {
    const Name* const name = named(number);
    if (name == nullptr) {
        return -1;
    }
    if (is_on()) {
        const Text said{parameter};
        const Text text =
            Text::joined({name->text(), said.view().empty() ? "" : ": ", said.view()});
        receivers::bookmark(category(), text.c_str());
    }
    return 0;
}

template <class Letter>
int event_create(const Letter* name, int length) noexcept {
    const auto most = static_cast<std::size_t>(length < 0 ? 0 : length);
    return number_of(receivers::name_of(Text{name, name == nullptr ? 0 : most}.view()));
}
std::uint64_t event_key(int number) noexcept {
    return mix(mix(kEvent, static_cast<std::uint64_t>(number)), receivers::thread_state());
}
int event_start(int number) noexcept {
    const Name* const name = named(number);
    if (name == nullptr) {
        return -1;
    }
    begin_region(event_key(number), *name, category());
    return 0;
}
int event_end(int number) noexcept {
    end_region(event_key(number));
    return named(number) == nullptr ? -1 : 0;
}

void add_metadata(const Domain* domain, const Id& id, const sample_trace_value& value) noexcept {
    const std::array<sample_trace_value, 2> values = {
        value, sample_trace_integer("id", static_cast<std::int64_t>(id.d1))};
    note("metadata", name_of(domain), values.data(), id.is_null() ? 1 : 2);
}

template <class Value>
Value element(const void* data, std::size_t index) noexcept {
    Value value;
    std::memcpy(&value, static_cast<const char*>(data) + index * sizeof value, sizeof value);
    return value;
}

/// A number of that type, or with kind 0 nothing.
sample_trace_value value_of(const char* key, MetadataType type, const void* data,
                            std::size_t index) noexcept {
    switch (type) {
        case MetadataType::u64:
        case MetadataType::s64:
            return sample_trace_integer(key, element<std::int64_t>(data, index));
        case MetadataType::u32:
            return sample_trace_integer(key, element<std::uint32_t>(data, index));
        case MetadataType::s32:
            return sample_trace_integer(key, element<std::int32_t>(data, index));
        case MetadataType::u16:
            return sample_trace_integer(key, element<std::uint16_t>(data, index));
        case MetadataType::s16:
            return sample_trace_integer(key, element<std::int16_t>(data, index));
        case MetadataType::real32:
            return sample_trace_real(key, element<float>(data, index));
        case MetadataType::real64:
            return sample_trace_real(key, element<double>(data, index));
        case MetadataType::unknown:
            break;
    }
    return {key, 0, {0}};
}

void metadata_add(const Domain* domain, Id id, const StringHandle* key, int type, std::size_t count,
                  const void* data) noexcept {
    if (!is_on() || data == nullptr || count == 0) {
        return;
    }
    const char* const name = name_of(key).text();
    const auto kind = static_cast<MetadataType>(type);
    const sample_trace_value first = value_of(name, kind, data, 0);
    if (first.kind == 0) {
        return;
    }
    if (count == 1) {
        add_metadata(domain, id, first);
        return;
    }
    std::array<char, receivers::kMostNameBytes + 1> list{};
    std::size_t used = 0;
    for (std::size_t i = 0; i < count && i < kMostListed; ++i) {
        const sample_trace_value each = value_of(name, kind, data, i);
        const char* const between = i == 0 ? "" : ", ";
        const int size = each.kind == SAMPLE_TRACE_VALUE_REAL
                             ? std::snprintf(list.data() + used, list.size() - used, "%s%g",
                                             between, each.as.real)
                             : std::snprintf(list.data() + used, list.size() - used, "%s%" PRId64,
                                             between, each.as.integer);
        used += static_cast<std::size_t>(size);
    }
    if (count > kMostListed) {
        std::snprintf(list.data() + used, list.size() - used, ", ...");
    }
    add_metadata(domain, id, sample_trace_text(name, list.data()));
}
void metadata_add_with_scope(const Domain* domain, int /*scope*/, const StringHandle* key, int type,
                             std::size_t count, const void* data) noexcept {
    metadata_add(domain, {}, key, type, count, data);
}

/// Length 0: up to its 0.
template <class Letter>
void metadata_str_add(const Domain* domain, Id id, const StringHandle* key, const Letter* data,
                      std::size_t length) noexcept {
    if (is_on() && data != nullptr) {
        const Text text = length == 0 ? Text{data} : Text{data, length};
        add_metadata(domain, id, sample_trace_text(name_of(key).text(), text.c_str()));
    }
}
template <class Letter>
void metadata_str_add_with_scope(const Domain* domain, int /*scope*/, const StringHandle* key,
                                 const Letter* data, std::size_t length) noexcept {
    metadata_str_add(domain, {}, key, data, length);
}

void say(const Domain* domain, const StringHandle* format, std::va_list arguments) noexcept {
    if (!is_on()) {
        return;
    }
    const char* const text = name_of(format).text();
    const sample_trace_place place = {
        text, name_of(domain).text(), nullptr, 0, 0, SAMPLE_TRACE_KIND_LOG, SAMPLE_TRACE_NORMAL, 0,
        0};
    if (const std::uint32_t definition = agent().define(&place); definition != 0) {
        agent().message(definition, text, arguments);
    }
}
void formatted_metadata_add(const Domain* domain, const StringHandle* format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    say(domain, format, arguments);
    va_end(arguments);
}
void formatted_metadata_add_overlapped(const Domain* domain, Id /*id*/, const StringHandle* format,
                                       ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    say(domain, format, arguments);
    va_end(arguments);
}

}  // namespace

std::span<const Function> word_functions() noexcept {
    static const Function functions[] = {
        entry("marker", marker),
        entry("marker_ex", marker_ex),
        entry("mark_create", mark_create<char>, mark_create<wchar_t>),
        entry("mark", mark<char>, mark<wchar_t>),
        entry("mark_global", mark<char>, mark<wchar_t>),
        entry("event_create", event_create<char>, event_create<wchar_t>),
        entry("event_start", event_start),
        entry("event_end", event_end),
        entry("metadata_add", metadata_add),
        entry("metadata_add_with_scope", metadata_add_with_scope),
        entry("metadata_str_add", metadata_str_add<char>, metadata_str_add<wchar_t>),
        entry("metadata_str_add_with_scope", metadata_str_add_with_scope<char>,
              metadata_str_add_with_scope<wchar_t>),
        entry("formatted_metadata_add", formatted_metadata_add),
        entry("formatted_metadata_add_overlapped", formatted_metadata_add_overlapped)};
    return functions;
}

}  // namespace sample::itt
