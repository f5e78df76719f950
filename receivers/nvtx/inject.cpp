// libsample-nvtx.so: what programs say by NVIDIA's NVTX, as what they say by sample/trace.h. No GPU
// and nothing of NVIDIA's is needed.
//
// NVTX_INJECTION64_PATH names it. Each library that has NVTX's headers in it loads it with its
// first call, and we write our functions where its pointers are. Without the agent, or while
// `--trace` does not name the channel `nvtx`, we refuse: NVTX says nothing to anybody.
//
// Push and pop are zones of their thread, start and end regions, marks bookmarks.
#include "receivers/nvtx/state.h"
#include "receivers/shared/arena.h"
#include "receivers/shared/key_table.h"
#include "receivers/shared/text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace sample::nvtx {
namespace {

using receivers::definition_of;
using receivers::mix;
using receivers::Text;

/// What the program has of it; null is nothing.
Attributes read(const Attributes* said) noexcept {
    Attributes attributes{};
    if (said != nullptr) {
        std::memcpy(&attributes, said, std::min<std::size_t>(said->bytes, sizeof attributes));
    }
    return attributes;
}

Attributes of_message(MessageType type, const void* message) noexcept {
    Attributes attributes{};
    attributes.message_type = type;
    attributes.message = message;
    return attributes;
}

std::uint32_t colour_of(const Attributes& attributes) noexcept {
    return attributes.colour_type == ColourType::argb ? attributes.colour & 0xffffffU
                                                      : SAMPLE_TRACE_NO_COLOUR;
}

/// With kind 0: there is none.
sample_trace_value payload_of(const Attributes& attributes) noexcept {
    constexpr const char* kKey = "payload";
    const auto low = static_cast<std::uint32_t>(attributes.payload);
    switch (attributes.payload_type) {
        case PayloadType::u64:
        case PayloadType::i64:
            return sample_trace_integer(kKey, static_cast<std::int64_t>(attributes.payload));
        case PayloadType::real64:
            return sample_trace_real(kKey, std::bit_cast<double>(attributes.payload));
        case PayloadType::u32:
            return sample_trace_integer(kKey, low);
        case PayloadType::i32:
            return sample_trace_integer(kKey, static_cast<std::int32_t>(low));
        case PayloadType::real32:
            return sample_trace_real(kKey, std::bit_cast<float>(low));
        default:
            return {kKey, 0, {0}};
    }
}

// ---- What is said, in a domain.

void mark(DomainHandle domain, const Attributes& attributes) noexcept {
    if (is_on()) {
        receivers::bookmark(category_of(domain, attributes.category),
                            name_of(attributes.message_type, attributes.message).text());
    }
}

constexpr unsigned kDefinitionBits = 16;

/// Its number and its definition: all that the end needs. 0: it is not recorded.
std::uint64_t start(DomainHandle domain, const Attributes& attributes) noexcept {
    if (!is_on()) {
        return 0;
    }
    const std::uint32_t definition = definition_of(
        SAMPLE_TRACE_KIND_REGION, name_of(attributes.message_type, attributes.message),
        &category_of(domain, attributes.category));
    const std::uint64_t number = agent().new_number();
    if (definition == 0 || number == 0) {
        return 0;
    }
    agent().begin_region(definition, number);
    return number << kDefinitionBits | definition;
}

void end(std::uint64_t range) noexcept {
    // Whatever happens to the channel meanwhile.
    if (range >> kDefinitionBits != 0 && sample_trace_module.functions != nullptr) {
        agent().end_region(static_cast<std::uint32_t>(range & ((1U << kDefinitionBits) - 1)),
                           range >> kDefinitionBits);
    }
}

/// No key that is mixed, and so for each range: the address of a name is even.
std::uint64_t range_key(DomainHandle domain) noexcept {
    return reinterpret_cast<std::uintptr_t>(domain) | 1U;
}

/// Returns on which level of the domain's it is, from 0.
int push(DomainHandle domain, const Attributes& attributes) noexcept {
    const std::uint64_t key = range_key(domain);
    receivers::ThreadState* const thread = receivers::thread_state();
    if (thread == nullptr) {
        return -1;
    }
    const std::uint32_t level = thread->zones.open(key);
    if (thread->zones.begin(key, is_on())) {
        const std::uint32_t zone = definition_of(
            SAMPLE_TRACE_KIND_ZONE, name_of(attributes.message_type, attributes.message),
            &category_of(domain, attributes.category), colour_of(attributes));
        const sample_trace_value payload = payload_of(attributes);
        if (payload.kind == 0) {
            agent().begin_zone(zone);
        } else {
            agent().begin_noted_zone(zone, &payload, 1);
        }
    }
    return static_cast<int>(level);
}

int pop(DomainHandle domain) noexcept {
    const std::uint64_t key = range_key(domain);
    receivers::ThreadState* const thread = receivers::thread_state();
    if (thread == nullptr) {
        return -1;
    }
    if (!thread->zones.end(key)) {
        if (is_on()) {
            g_unmatched.count();
        }
        return -1;
    }
    return static_cast<int>(thread->zones.open(key));
}

// ---- NVTX's functions. Those with A take text, those with W wide characters.

constexpr MessageType type_of(const char* /*message*/) noexcept {
    return MessageType::ascii;
}
constexpr MessageType type_of(const wchar_t* /*message*/) noexcept {
    return MessageType::wide;
}

void mark_ex(const Attributes* attributes) noexcept {
    mark(nullptr, read(attributes));
}
template <class Letter>
void mark_text(const Letter* message) noexcept {
    mark(nullptr, of_message(type_of(message), message));
}
std::uint64_t range_start_ex(const Attributes* attributes) noexcept {
    return start(nullptr, read(attributes));
}
template <class Letter>
std::uint64_t range_start_text(const Letter* message) noexcept {
    return start(nullptr, of_message(type_of(message), message));
}
int range_push_ex(const Attributes* attributes) noexcept {
    return push(nullptr, read(attributes));
}
template <class Letter>
int range_push_text(const Letter* message) noexcept {
    return push(nullptr, of_message(type_of(message), message));
}
int range_pop() noexcept {
    return pop(nullptr);
}

void domain_mark_ex(DomainHandle domain, const Attributes* attributes) noexcept {
    mark(domain, read(attributes));
}
std::uint64_t domain_range_start_ex(DomainHandle domain, const Attributes* attributes) noexcept {
    return start(domain, read(attributes));
}
void domain_range_end(DomainHandle /*domain*/, std::uint64_t range) noexcept {
    end(range);
}
int domain_range_push_ex(DomainHandle domain, const Attributes* attributes) noexcept {
    return push(domain, read(attributes));
}

template <class Letter>
void domain_name_category_text(DomainHandle domain, std::uint32_t category,
                               const Letter* name) noexcept {
    name_category(domain, category, name_of(type_of(name), name));
}
template <class Letter>
void name_category_text(std::uint32_t category, const Letter* name) noexcept {
    domain_name_category_text(nullptr, category, name);
}
template <class Letter>
void name_thread_text(std::uint32_t tid, const Letter* name) noexcept {
    name_thread(tid, name_of(type_of(name), name));
}
template <class Letter>
Name* register_string(DomainHandle /*domain*/, const Letter* text) noexcept {
    return receivers::name_of(Text{text}.view());
}
template <class Letter>
DomainHandle domain_create(const Letter* name) noexcept {
    return receivers::name_of(Text{name}.view());
}

/// A resource: that it is there.
void* resource_create() noexcept {
    static char resource;
    return &resource;
}
void nothing() noexcept {}

// ---- Objects that threads wait for: a zone from the start to the end of waiting.

struct SyncObject {
    Name* name;
    Name* category;
};

SyncObject* sync_create(DomainHandle domain, const SyncAttributes* attributes) noexcept {
    auto* const made = receivers::keep_new<SyncObject>();
    if (made != nullptr) {
        const bool has_name = attributes != nullptr && attributes->bytes >= sizeof *attributes &&
                              attributes->message_type != MessageType::unknown;
        const Text text = Text::joined(
            {"wait ",
             has_name ? name_of(attributes->message_type, attributes->message).text() : "object"});
        made->name = receivers::name_of(text.view());
        made->category = &category_of(domain, 0);
    }
    return made;
}
void sync_acquire_start(const SyncObject* object) noexcept {
    receivers::ThreadState* const thread = receivers::thread_state();
    if (object != nullptr && thread != nullptr && thread->zones.begin(mix(1, object), is_on())) {
        agent().begin_zone(definition_of(SAMPLE_TRACE_KIND_ZONE, *object->name, object->category));
    }
}
/// Acquired, or given up.
void sync_acquire_end(const SyncObject* object) noexcept {
    if (receivers::ThreadState* const thread = receivers::thread_state(); thread != nullptr) {
        static_cast<void>(thread->zones.end(mix(1, object)));
    }
}

// ---- The tables, by NVTX's numbers of functions: 0 is none.

template <class Type>
FunctionPointer entry(Type* function) noexcept {
    return reinterpret_cast<FunctionPointer>(function);
}

const FunctionPointer core_functions[] = {nullptr,
                                          entry(mark_ex),
                                          entry(mark_text<char>),
                                          entry(mark_text<wchar_t>),
                                          entry(range_start_ex),
                                          entry(range_start_text<char>),
                                          entry(range_start_text<wchar_t>),
                                          entry(end),
                                          entry(range_push_ex),
                                          entry(range_push_text<char>),
                                          entry(range_push_text<wchar_t>),
                                          entry(range_pop),
                                          entry(name_category_text<char>),
                                          entry(name_category_text<wchar_t>),
                                          entry(name_thread_text<char>),
                                          entry(name_thread_text<wchar_t>)};
const FunctionPointer core2_functions[] = {nullptr,
                                           entry(domain_mark_ex),
                                           entry(domain_range_start_ex),
                                           entry(domain_range_end),
                                           entry(domain_range_push_ex),
                                           entry(pop),
                                           entry(resource_create),
                                           entry(nothing),
                                           entry(domain_name_category_text<char>),
                                           entry(domain_name_category_text<wchar_t>),
                                           entry(register_string<char>),
                                           entry(register_string<wchar_t>),
                                           entry(domain_create<char>),
                                           entry(domain_create<wchar_t>),
                                           entry(nothing),
                                           entry(nothing)};
const FunctionPointer sync_functions[] = {nullptr,
                                          entry(sync_create),
                                          entry(nothing),
                                          entry(sync_acquire_start),
                                          entry(sync_acquire_end),
                                          entry(sync_acquire_end),
                                          entry(nothing)};

template <std::size_t kCount>
void fill(const Callbacks& callbacks, Module module,
          const FunctionPointer (&functions)[kCount]) noexcept {
    FunctionPointer** places = nullptr;
    unsigned count = 0;
    if (callbacks.get_functions(static_cast<std::uint32_t>(module), &places, &count) != 1 ||
        places == nullptr) {
        return;
    }
    for (std::size_t number = 1; number < kCount && number < count; ++number) {
        if (places[number] != nullptr) {
            __atomic_store_n(places[number], functions[number], __ATOMIC_RELEASE);
        }
    }
}

}  // namespace

/// 1: NVTX calls us from now on. 0: it calls nobody.
// NOLINTNEXTLINE(readability-identifier-naming): NVTX's name.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    GetExportTable get_table) {
    if (!SAMPLE_TRACE_IS_ON(::nvtx) || get_table == nullptr) {
        return 0;
    }
    const auto* const callbacks = static_cast<const Callbacks*>(get_table(kCallbacksTable));
    if (callbacks == nullptr || callbacks->bytes < sizeof *callbacks) {
        return 0;
    }
    fill(*callbacks, Module::core, core_functions);
    fill(*callbacks, Module::core2, core2_functions);
    fill(*callbacks, Module::sync, sync_functions);
    return 1;
}

}  // namespace sample::nvtx
