#include "sampler/agent/processes/child_environment.h"

#include "core/sanitizer_runtime.h"
#include "sampler/agent/session/local_socket.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/control/protocol.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

namespace sample::agent {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kLibrary = "libsample.so";
constexpr std::string_view kMemoryLibrary = "libsample-memory.so";
constexpr std::string_view kSeparators = ": ";
constexpr std::string_view kListing = "LD_TRACE_LOADED_OBJECTS=";

constinit bool g_joined = false;
constinit bool g_wanted = false;
constinit const char* g_library = nullptr;  // the loader's, which keeps it
constinit struct stat g_library_file {};
constinit std::array<char, PATH_MAX> g_other_libraries{};  // LD_PRELOAD=those of the program

bool is_ours(std::string_view item) noexcept {
    for (const std::string_view library : {kLibrary, kMemoryLibrary}) {
        if (item.ends_with(library) &&
            (item.size() == library.size() || item[item.size() - library.size() - 1] == '/')) {
            return true;
        }
    }
    return false;
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

bool stat_file(const char* path, struct stat& out) noexcept {
    return capture::raw_syscall(SYS_newfstatat, AT_FDCWD, capture::as_argument(path),
                                capture::as_argument(&out), 0) == 0;
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
    std::string_view runtime;       ///< A sanitizer's, that the program preloads itself.
    bool has_library = false;
    bool lists_libraries = false;  ///< As ldd(1) does: it runs nothing, and would list ours.
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
            for_each_item(found.preload, [&](std::string_view item) {
                found.has_library |= is_ours(item);
                found.runtime =
                    found.runtime.empty() && is_sanitizer_runtime(item) ? item : found.runtime;
            });
        } else if (is_session(entry)) {
            found.session = entry;
        } else if (starts_with(entry, kListing) && entry[kListing.size()] != '\0') {
            found.lists_libraries = true;
        }
    }
    return found;
}

std::string_view needed_first(const Found& found, const char* runtime) noexcept {
    return *runtime != '\0' ? std::string_view{runtime} : found.runtime;
}

char* append(char* at, std::string_view text) noexcept {
    memcpy(at, text.data(), text.size());
    return at + text.size();
}

/// The variable's entry: our library first, or left out. Null: nothing is left of the list.
char* write_preload(const char* list, bool with_library, std::string_view runtime,
                    char* at) noexcept {
    char* const entry = at;
    at = append(at, kPreload);
    const char* const first = at;
    if (with_library) {
        if (!runtime.empty()) {
            at = append(append(at, runtime), ":");
        }
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

void set_up_children(bool wanted) noexcept {
    // A child's parent knew it already: the loader, whose locks it might hold, is not asked again.
    // And it may be in another root folder already.
    Dl_info info{};
    if (g_library == nullptr &&
        dladdr(reinterpret_cast<const void*>(&set_up_children), &info) != 0 &&
        stat_file(info.dli_fname, g_library_file)) {
        g_library = info.dli_fname;
    }
    if (g_library == nullptr) {
        return;
    }
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

bool library_is_in_reach() noexcept {
    struct stat now {};
    if (g_library == nullptr) {
        return true;
    }
    // A copy in a root folder of its own will do.
    return stat_file(g_library, now) && S_ISREG(now.st_mode) &&
           now.st_size == g_library_file.st_size;
}

bool library_may_be_read() noexcept {
    if (g_library == nullptr) {
        return true;
    }
    const long fd = capture::raw_syscall(SYS_openat, AT_FDCWD, capture::as_argument(g_library),
                                         O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    close_descriptor(static_cast<int>(fd));
    return fd != -EACCES && fd != -EPERM;
}

std::size_t environment_room(char* const* envp, Inherit inherit, const char* runtime) noexcept {
    if (inherit == Inherit::as_given) {
        return 0;
    }
    const Found found = look_through(envp);
    if (inherit == Inherit::nothing || found.lists_libraries) {
        if (!found.has_library && found.session == nullptr) {
            return 0;
        }
    } else if (needed_first(found, runtime).empty() && found.has_library &&
               found.session != nullptr && strcmp(found.session, session_entry()) == 0) {
        return 0;
    }
    const std::size_t list = found.preload == nullptr ? 0 : strlen(found.preload);
    const std::size_t room = (found.count + 3) * sizeof(char*) + kPreload.size() +
                             (g_library == nullptr ? 0 : strlen(g_library)) + list + 3 +
                             needed_first(found, runtime).size();
    return room <= kMaxEnvironmentRoom ? room : 0;
}

char** make_environment(char* const* envp, Inherit inherit, const char* runtime,
                        void* room) noexcept {
    const Found found = look_through(envp);
    auto** made = static_cast<char**>(room);
    std::size_t count = 0;
    for (std::size_t i = 0; i < found.count; ++i) {
        if (!starts_with(envp[i], kPreload) && !is_session(envp[i])) {
            made[count++] = envp[i];
        }
    }
    const bool session = inherit == Inherit::session && !found.lists_libraries;
    char* preload = write_preload(found.preload, session, needed_first(found, runtime),
                                  reinterpret_cast<char*>(made + found.count + 3));
    if (preload != nullptr) {
        made[count++] = preload;
    }
    if (session) {
        made[count++] = const_cast<char*>(session_entry());
    }
    made[count] = nullptr;
    return made;
}

void forget_runtime() noexcept {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (!starts_with(*entry, kPreload)) {
            continue;
        }
        char* const list = *entry + kPreload.size();
        const std::string_view items{list};
        const std::string_view first = items.substr(0, items.find(':'));
        const std::string_view rest = items.substr(std::min(first.size() + 1, items.size()));
        if (is_sanitizer_runtime(first) && is_ours(rest.substr(0, rest.find(':')))) {
            memmove(list, rest.data(), rest.size());
            memset(list + rest.size(), 0, items.size() - rest.size());
        }
    }
}

void leave_environment() noexcept {
    if (environ == nullptr) {
        return;
    }
    char** to = environ;
    for (char** from = environ; *from != nullptr; ++from) {
        char* entry = *from;
        if (starts_with(entry, kPreload) && strlen(entry) < g_other_libraries.size()) {
            entry = write_preload(entry + kPreload.size(), false, {}, g_other_libraries.data());
        }
        if (entry != nullptr && !is_session(entry)) {
            *to++ = entry;
        }
    }
    *to = nullptr;
}

}  // namespace sample::agent
