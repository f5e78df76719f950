// A thread that waits for an object of the program's own is in a zone "wait NAME" from prepare to
// acquired or cancel.
#include "receivers/itt/functions.h"
#include "receivers/itt/state.h"
#include "receivers/shared/text.h"

#include <string_view>

namespace sample::itt {
namespace {

using receivers::mix;
using receivers::Name;
using receivers::Text;

constexpr std::uint64_t kWait = 5;

constinit receivers::FixedName g_unnamed_object{"wait object"};
constinit receivers::FixedName g_sync_category{"ITT sync"};

/// By address: the name of the zone.
receivers::KeyTable<8192> g_objects;

std::uint64_t key_of(const void* object) noexcept {
    return mix(kWait, object);
}

void name_object(const void* object, const Text& type, const Text& name) noexcept {
    const bool is_nameless = type.view().empty() && name.view().empty();
    const bool has_both = !type.view().empty() && !name.view().empty();
    const Text text = Text::joined(
        {"wait ", is_nameless ? "object" : type.view(), has_both ? " " : "", name.view()});
    g_objects.put(key_of(object),
                  reinterpret_cast<std::uintptr_t>(receivers::name_of(text.view())));
}

template <class Letter>
void sync_create(const void* object, const Letter* type, const Letter* name,
                 int /*attribute*/) noexcept {
    name_object(object, Text{type}, Text{name});
}
template <class Letter>
void sync_rename(const void* object, const Letter* name) noexcept {
    name_object(object, Text{""}, Text{name});
}
template <class Letter>
int notify_sync_name(const void* object, const Letter* type, int type_length, const Letter* name,
                     int name_length, int /*attribute*/) noexcept {
    const auto text = [](const Letter* letters, int length) {
        return letters == nullptr || length <= 0 ? Text{""}
                                                 : Text{letters, static_cast<std::size_t>(length)};
    };
    name_object(object, text(type, type_length), text(name, name_length));
    return 0;
}
void sync_destroy(const void* object) noexcept {
    static_cast<void>(g_objects.take(key_of(object)));
}

/// Those of the oldest form return an int.
int sync_prepare(const void* object) noexcept {
    const std::uint64_t known = g_objects.find(key_of(object));
    const Name& name = known == 0 ? g_unnamed_object.get() : *reinterpret_cast<const Name*>(known);
    begin_zone(key_of(object), name, g_sync_category.get());
    return 0;
}
/// Nothing if the thread has not waited: an object may be acquired at once.
int sync_acquired(const void* object) noexcept {
    static_cast<void>(end_zone_if_any(key_of(object)));
    return 0;
}

}  // namespace

std::span<const Function> sync_functions() noexcept {
    static const Function functions[] = {
        entry("sync_create", sync_create<char>, sync_create<wchar_t>),
        entry("sync_set_name", sync_create<char>, sync_create<wchar_t>),
        entry("sync_rename", sync_rename<char>, sync_rename<wchar_t>),
        entry("notify_sync_name", notify_sync_name<char>, notify_sync_name<wchar_t>),
        entry("sync_destroy", sync_destroy),
        entry("sync_prepare", sync_prepare),
        entry("sync_cancel", sync_acquired),
        entry("sync_acquired", sync_acquired),
        entry("notify_sync_prepare", sync_prepare),
        entry("notify_sync_cancel", sync_acquired),
        entry("notify_sync_acquired", sync_acquired),
        entry("fsync_prepare", sync_prepare),
        entry("fsync_cancel", sync_acquired),
        entry("fsync_acquired", sync_acquired)};
    return functions;
}

}  // namespace sample::itt
