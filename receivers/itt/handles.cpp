#include "receivers/itt/handles.h"

#include "receivers/shared/arena.h"
#include "receivers/shared/key_table.h"
#include "receivers/shared/text.h"

namespace sample::itt {
namespace {

using receivers::keep_new;
using receivers::KeyTable;
using receivers::mix;
using receivers::Text;

constinit receivers::FixedName g_without_domain{"ITT"};
constinit receivers::FixedName g_unnamed{"unnamed"};

/// By name's address.
KeyTable<4096> g_domains;
KeyTable<std::size_t{1} << 15U> g_handles;
KeyTable<4096> g_counters;

Name* name_of(std::string_view text) noexcept {
    return receivers::name_of(text);
}

void* load(void* const& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
void store(void*& word, void* value) noexcept {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

/// The struct of a name: of two threads that make one at the same time each gets its own, which
/// mean the same.
template <class Made, class Table>
Made* find_or_make(Table& table, Name* name, void (*fill)(Made&, const char*)) noexcept {
    const std::uint64_t key = mix(1, name);
    if (const std::uint64_t known = table.find(key); known != 0) {
        return reinterpret_cast<Made*>(known);
    }
    auto* const made = keep_new<Made>();
    if (made != nullptr) {
        fill(*made, name->text());
        store(made->extra2, name);
        table.put(key, reinterpret_cast<std::uintptr_t>(made));
    }
    return made;
}

/// What `extra2` leads to, or the name that `text` gives, which it leads to from now on.
template <class Handle>
Name& name_in(const Handle& handle, const char* text) noexcept {
    void* const known = load(handle.extra2);
    if (known != nullptr) {
        return *static_cast<Name*>(known);
    }
    Name* const name = name_of(Text{text}.view());
    // The static part's own, which it has left for us.
    store(const_cast<Handle&>(handle).extra2, name);
    return *name;
}

Counter* make_counter(const char* name, const char* domain, MetadataType type) noexcept {
    auto* const made = keep_new<Counter>();
    if (made != nullptr) {
        const Text in{domain};
        const Text both =
            Text::joined({in.view(), in.view().empty() ? "" : ": ", Text{name}.view()});
        made->name = name_of(both.view());
        made->type = type;
    }
    return made;
}

}  // namespace

Domain* domain(std::string_view name) noexcept {
    return find_or_make<Domain>(g_domains, name_of(name), [](Domain& made, const char* text) {
        made.flags = 1;
        made.name = text;
    });
}

StringHandle* string_handle(std::string_view text) noexcept {
    return find_or_make<StringHandle>(
        g_handles, name_of(text), [](StringHandle& made, const char* kept) { made.text = kept; });
}

Name& name_of(const Domain* domain) noexcept {
    return domain == nullptr ? g_without_domain.get() : name_in(*domain, domain->name);
}

Name& name_of(const StringHandle* handle) noexcept {
    return handle == nullptr ? g_unnamed.get() : name_in(*handle, handle->text);
}

CounterInfo* counter_info(std::string_view name, std::string_view domain,
                          MetadataType type) noexcept {
    auto* const made = keep_new<CounterInfo>();
    if (made != nullptr) {
        made->name = name_of(name)->text();
        made->domain = name_of(domain)->text();
        made->type = static_cast<int>(type);
    }
    return made;
}

Counter* counter_of(CounterInfo* info) noexcept {
    if (info == nullptr) {
        return nullptr;
    }
    void* known = load(info->extra2);
    if (known == nullptr) {
        Counter* const made =
            make_counter(info->name, info->domain, static_cast<MetadataType>(info->type));
        if (made != nullptr &&
            __atomic_compare_exchange_n(&info->extra2, &known, static_cast<void*>(made), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            known = made;
        }
    }
    return static_cast<Counter*>(known);
}

Counter* counter_of(const Domain* domain, const StringHandle* handle) noexcept {
    const Name& in = name_of(domain);
    const Name& name = name_of(handle);
    const std::uint64_t key = mix(mix(2, &in), &name);
    if (const std::uint64_t known = g_counters.find(key); known != 0) {
        return reinterpret_cast<Counter*>(known);
    }
    Counter* const made = make_counter(name.text(), in.text(), MetadataType::u64);
    return made != nullptr && g_counters.put(key, reinterpret_cast<std::uintptr_t>(made)) ? made
                                                                                          : nullptr;
}

}  // namespace sample::itt
