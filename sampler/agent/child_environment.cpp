#include "sampler/agent/child_environment.h"

#include "sampler/control/protocol.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string_view>

namespace sample::agent {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kLibrary = "libsample.so";
constexpr std::string_view kSeparators = ": ";
/// Beyond it an environment is passed on as it is: the stack may be small.
constexpr std::size_t kMaxRoom = std::size_t{64} * 1024;

constinit bool g_joined = false;
constinit bool g_wanted = false;
constinit const char* g_library = nullptr;   // the loader's, which keeps it
constinit std::array<char, 96> g_session{};  // SAMPLE_SESSION=name

bool is_ours(std::string_view item) noexcept {
    if (!item.ends_with(kLibrary)) {
        return false;
    }
    item.remove_suffix(kLibrary.size());
    return item.empty() || item.back() == '/';
}

/// Calls `take` with each item of a list of libraries.
template <class Take>
void for_each_item(std::string_view list, Take take) noexcept {
    while (!list.empty()) {
        const std::size_t end = list.find_first_of(kSeparators);
        const std::string_view item = list.substr(0, end);
        if (!item.empty()) {
            take(item);
        }
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    }
}

bool starts_with(const char* text, std::string_view start) noexcept {
    return strncmp(text, start.data(), start.size()) == 0;
}

bool is_session(const char* entry) noexcept {
    const std::size_t size = strlen(control::kSessionVariable);
    return strncmp(entry, control::kSessionVariable, size) == 0 && entry[size] == '=';
}

struct Found {
    std::size_t count = 0;
    const char* preload = nullptr;  ///< The list, without the variable's name.
    const char* session = nullptr;  ///< The whole entry.
    bool has_library = false;
};

Found look_through(char* const* envp) noexcept {
    Found found;
    if (envp == nullptr) {
        return found;
    }
    for (; envp[found.count] != nullptr; ++found.count) {
        const char* entry = envp[found.count];
        if (starts_with(entry, kPreload)) {
            found.preload = entry + kPreload.size();
            for_each_item(found.preload,
                          [&](std::string_view item) { found.has_library |= is_ours(item); });
        } else if (is_session(entry)) {
            found.session = entry;
        }
    }
    return found;
}

char* append(char* at, std::string_view text) noexcept {
    memcpy(at, text.data(), text.size());
    return at + text.size();
}

/// The variable's entry: our library first, or left out. Null: nothing is left of the list.
char* write_preload(const char* list, bool with_library, char* at) noexcept {
    char* const entry = at;
    at = append(at, kPreload);
    const char* const first = at;
    if (with_library) {
        at = append(at, g_library);
    }
    for_each_item(list == nullptr ? std::string_view{} : list, [&](std::string_view item) {
        if (!is_ours(item)) {
            at = append(at, at == first ? "" : ":");
            at = append(at, item);
        }
    });
    *at = '\0';
    return at == first ? nullptr : entry;
}

}  // namespace

void set_up_children(const char* session_name, bool wanted) noexcept {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&set_up_children), &info) == 0 ||
        info.dli_fname == nullptr ||
        strlen(control::kSessionVariable) + 1 + strlen(session_name) >= g_session.size()) {
        return;
    }
    g_library = info.dli_fname;
    char* at = append(g_session.data(), control::kSessionVariable);
    at = append(at, "=");
    strcpy(at, session_name);
    g_wanted = wanted;
    g_joined = true;
}

bool children_wanted() noexcept {
    return g_joined && g_wanted;
}

Inherit inheritance(bool own_process) noexcept {
    if (!g_joined) {
        return Inherit::as_given;
    }
    return own_process || g_wanted ? Inherit::session : Inherit::nothing;
}

std::size_t environment_room(char* const* envp, Inherit inherit) noexcept {
    if (inherit == Inherit::as_given) {
        return 0;
    }
    const Found found = look_through(envp);
    if (inherit == Inherit::nothing) {
        if (!found.has_library && found.session == nullptr) {
            return 0;
        }
    } else if (found.has_library && found.session != nullptr &&
               strcmp(found.session, g_session.data()) == 0) {
        return 0;
    }
    const std::size_t list = found.preload == nullptr ? 0 : strlen(found.preload);
    const std::size_t room = (found.count + 3) * sizeof(char*) + kPreload.size() +
                             (g_library == nullptr ? 0 : strlen(g_library)) + list + 2;
    return room <= kMaxRoom ? room : 0;
}

char** make_environment(char* const* envp, Inherit inherit, void* room) noexcept {
    const Found found = look_through(envp);
    auto** made = static_cast<char**>(room);
    std::size_t count = 0;
    for (std::size_t i = 0; i < found.count; ++i) {
        if (!starts_with(envp[i], kPreload) && !is_session(envp[i])) {
            made[count++] = envp[i];
        }
    }
    const bool session = inherit == Inherit::session;
    char* preload =
        write_preload(found.preload, session, reinterpret_cast<char*>(made + found.count + 3));
    if (preload != nullptr) {
        made[count++] = preload;
    }
    if (session) {
        made[count++] = g_session.data();
    }
    made[count] = nullptr;
    return made;
}

}  // namespace sample::agent
