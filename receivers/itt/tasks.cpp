// Tasks are zones, of the domain as their category. Overlapped tasks, and regions, are regions:
// both have an id by which they end, on any thread. Times that the program states, in a clock of
// its own, are not looked at: all is written when it is said.
#include "receivers/itt/functions.h"
#include "receivers/itt/handles.h"
#include "receivers/itt/state.h"
#include "receivers/shared/code.h"

#include <array>

namespace sample::itt {
namespace {

using receivers::mix;

constexpr std::uint64_t kTask = 1;
constexpr std::uint64_t kOverlapped = 2;
constexpr std::uint64_t kRegion = 3;

/// No key that is mixed, and so for each task: the address of a name is even.
std::uint64_t task_key(const Domain* domain) noexcept {
    return reinterpret_cast<std::uintptr_t>(&name_of(domain)) | kTask;
}
std::uint64_t key_of(std::uint64_t kind, const Domain* domain, const Id& id) noexcept {
    return mix(mix(mix(mix(kind, &name_of(domain)), id.d1), id.d2), id.d3);
}

void task_begin(const Domain* domain, Id /*id*/, Id /*parent*/, const StringHandle* name) noexcept {
    begin_zone(task_key(domain), name_of(name), name_of(domain));
}
void task_begin_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/, Id id, Id parent,
                   const StringHandle* name) noexcept {
    task_begin(domain, id, parent, name);
}

/// A function's name, or where it is in its file.
Name& function_name(void* function) noexcept {
    static receivers::KeyTable<4096> known;
    const std::uint64_t key = mix(kTask, function);
    if (const std::uint64_t name = known.find(key); name != 0) {
        return *reinterpret_cast<Name*>(name);
    }
    Name* const name = receivers::name_of(receivers::words_of_code(function).view());
    known.put(key, reinterpret_cast<std::uintptr_t>(name));
    return *name;
}

void task_begin_fn(const Domain* domain, Id /*id*/, Id /*parent*/, void* function) noexcept {
    begin_zone(task_key(domain), function_name(function), name_of(domain));
}
void task_begin_fn_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/, Id id,
                      Id parent, void* function) noexcept {
    task_begin_fn(domain, id, parent, function);
}

/// Its other form has more parameters, which nobody looks at.
void task_end(const Domain* domain) noexcept {
    end_zone(task_key(domain));
}

void task_begin_overlapped(const Domain* domain, Id id, Id /*parent*/,
                           const StringHandle* name) noexcept {
    begin_region(key_of(kOverlapped, domain, id), name_of(name), name_of(domain));
}
void task_begin_overlapped_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/, Id id,
                              Id parent, const StringHandle* name) noexcept {
    task_begin_overlapped(domain, id, parent, name);
}
void task_end_overlapped(const Domain* domain, Id id) noexcept {
    end_region(key_of(kOverlapped, domain, id));
}
void task_end_overlapped_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/,
                            Id id) noexcept {
    task_end_overlapped(domain, id);
}

void region_begin(const Domain* domain, Id id, Id /*parent*/, const StringHandle* name) noexcept {
    begin_region(key_of(kRegion, domain, id), name_of(name), name_of(domain));
}
void region_end(const Domain* domain, Id id) noexcept {
    end_region(key_of(kRegion, domain, id));
}

const char* words_of(int relation) noexcept {
    constexpr std::array<const char*, 8> kRelations = {
        "unknown",     "is dependent on", "is sibling of",    "is parent of", "is continuation of",
        "is child of", "is continued by", "is predecessor to"};
    return relation > 0 && static_cast<std::size_t>(relation) < kRelations.size()
               ? kRelations[static_cast<std::size_t>(relation)]
               : kRelations[0];
}

void relation_add(const Domain* domain, Id head, int relation, Id tail) noexcept {
    if (!is_on()) {
        return;
    }
    const std::array<sample_trace_value, 3> values = {
        sample_trace_text("relation", words_of(relation)),
        sample_trace_integer("to", static_cast<std::int64_t>(tail.d1)),
        sample_trace_integer("from", static_cast<std::int64_t>(head.d1))};
    note("relation", name_of(domain), values.data(), head.is_null() ? 2 : 3);
}
void relation_add_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/, Id head,
                     int relation, Id tail) noexcept {
    relation_add(domain, head, relation, tail);
}
void relation_add_to_current(const Domain* domain, int relation, Id tail) noexcept {
    relation_add(domain, {}, relation, tail);
}
void relation_add_to_current_ex(const Domain* domain, void* /*clock*/, std::uint64_t /*time*/,
                                int relation, Id tail) noexcept {
    relation_add(domain, {}, relation, tail);
}

}  // namespace

std::span<const Function> task_functions() noexcept {
    static const Function functions[] = {
        entry("task_begin", task_begin),
        entry("task_begin_ex", task_begin_ex),
        entry("task_begin_fn", task_begin_fn),
        entry("task_begin_fn_ex", task_begin_fn_ex),
        entry("task_end", task_end),
        entry("task_end_ex", task_end),
        entry("task_begin_overlapped", task_begin_overlapped),
        entry("task_begin_overlapped_ex", task_begin_overlapped_ex),
        entry("task_end_overlapped", task_end_overlapped),
        entry("task_end_overlapped_ex", task_end_overlapped_ex),
        entry("region_begin", region_begin),
        entry("region_end", region_end),
        entry("relation_add", relation_add),
        entry("relation_add_ex", relation_add_ex),
        entry("relation_add_to_current", relation_add_to_current),
        entry("relation_add_to_current_ex", relation_add_to_current_ex)};
    return functions;
}

}  // namespace sample::itt
