#include "receivers/unity/host/plugins.h"

#include "receivers/unity/host/callbacks.h"
#include "receivers/unity/host/counters.h"
#include "receivers/unity/host/interfaces.h"
#include "receivers/unity/host/said.h"
#include "sample/unity/host.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <mutex>

namespace sample::unity {
namespace {

using LoadFunction = void (*)(IUnityInterfaces*);
using UnloadFunction = void (*)();

struct Plugin {
    std::array<char, PATH_MAX> path{};
    void* handle = nullptr;  ///< Null: none here.
    unsigned uses = 0;
    const char* code_begin = nullptr;
    const char* code_end = nullptr;
};

constexpr std::size_t kMostPlugins = 64;
constinit std::array<Plugin, kMostPlugins> g_plugins{};
/// Of the table; plug-ins may load others.
std::recursive_mutex g_loading;

Plugin* find_plugin(const char* path) noexcept {
    auto* const found =
        std::find_if(g_plugins.begin(), g_plugins.end(), [path](const Plugin& each) {
            return each.handle != nullptr && std::strcmp(each.path.data(), path) == 0;
        });
    return found == g_plugins.end() ? nullptr : found;
}

/// What of the address space the library has.
void find_code(Plugin& plugin) noexcept {
    struct link_map* map = nullptr;
    if (::dlinfo(plugin.handle, RTLD_DI_LINKMAP, &map) != 0) {
        return;
    }
    struct Search {
        ElfW(Addr) bias;
        Plugin& plugin;
    } search{map->l_addr, plugin};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t /*bytes*/, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            if (info->dlpi_addr != wanted.bias) {
                return 0;
            }
            for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& segment = info->dlpi_phdr[i];
                if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
                    const auto* const begin =
                        reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
                    wanted.plugin.code_begin = begin;
                    wanted.plugin.code_end = begin + segment.p_memsz;
                }
            }
            return 1;
        },
        &search);
}

template <class Function, class... Arguments>
bool call_plugin(const Plugin& plugin, const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<Function>(::dlsym(plugin.handle, name));
    if (function == nullptr) {
        return true;
    }
    try {
        function(arguments...);
        return true;
    } catch (abi::__forced_unwind&) {
        throw;  // The thread ends.
    } catch (...) {
        complain("%s of %s has thrown an exception, which was dropped: catch it there", name,
                 plugin.path.data());
        return false;
    }
}

/// What belongs to the plug-in and lies with us.
void forget_plugin(const Plugin& plugin, bool says_so) noexcept {
    end_counters(plugin.code_begin, plugin.code_end);
    const int kinds = unregister_code(plugin.code_begin, plugin.code_end);
    if (kinds != 0 && says_so) {
        complain(
            "%s has left callbacks registered (%d kinds), which were removed: unregister them "
            "in UnityPluginUnload",
            plugin.path.data(), kinds);
    }
}

bool start(Plugin& plugin, const char* path) {
    plugin.handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin.handle == nullptr) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is the thread's own.
        const char* const reason = ::dlerror();
        complain("cannot load the plug-in %s: %s", path, reason == nullptr ? "unknown" : reason);
        return false;
    }
    std::strncpy(plugin.path.data(), path, plugin.path.size() - 1);
    plugin.uses = 1;
    find_code(plugin);
    if (::dlsym(plugin.handle, "UnityPluginLoad") == nullptr) {
        complain("%s has no UnityPluginLoad: it is loaded, and told nothing", path);
    }
    if (!call_plugin<LoadFunction>(plugin, "UnityPluginLoad", &registry())) {
        // It may be in any state, and stays mapped; it is asked for nothing more.
        forget_plugin(plugin, false);
        plugin = {};
        return false;
    }
    return true;
}

void end(Plugin& plugin, bool is_closed) {
    call_plugin<UnloadFunction>(plugin, "UnityPluginUnload");
    forget_plugin(plugin, true);
    if (is_closed && have_callbacks_returned()) {
        ::dlclose(plugin.handle);
    } else if (is_closed) {
        complain(
            "%s stays in memory, as a callback may still be running in it: unload it where none is",
            plugin.path.data());
    }
    plugin = {};
}

int load(const char* path) {
    const std::lock_guard lock{g_loading};
    if (path == nullptr || *path == '\0') {
        return -1;
    }
    if (Plugin* const loaded = find_plugin(path); loaded != nullptr) {
        ++loaded->uses;
        return 0;
    }
    auto* const room = std::find_if(g_plugins.begin(), g_plugins.end(),
                                    [](const Plugin& each) { return each.handle == nullptr; });
    if (room == g_plugins.end()) {
        complain("cannot load the plug-in %s: %zu are loaded already, unload one", path,
                 g_plugins.size());
        return -1;
    }
    return start(*room, path) ? 0 : -1;
}

int unload(const char* path) {
    const std::lock_guard lock{g_loading};
    Plugin* const loaded = path == nullptr ? nullptr : find_plugin(path);
    if (loaded == nullptr) {
        return -1;
    }
    if (--loaded->uses == 0) {
        end(*loaded, true);
    }
    return 0;
}

}  // namespace

void load_plugins(const char* list) noexcept {
    std::array<char, PATH_MAX> path{};
    while (list != nullptr && *list != '\0') {
        const std::size_t size = ::strcspn(list, ":");
        if (size != 0 && size < path.size()) {
            path = {};
            std::memcpy(path.data(), list, size);
            load(path.data());
        }
        list += size + (list[size] == ':' ? 1 : 0);
    }
}

void unload_plugins() noexcept {
    const std::lock_guard lock{g_loading};
    for (std::size_t i = g_plugins.size(); i-- > 0;) {
        if (g_plugins[i].handle != nullptr) {
            end(g_plugins[i], false);
        }
    }
}

}  // namespace sample::unity

extern "C" __attribute__((visibility("default"))) int sample_unity_load(const char* path) {
    return sample::unity::load(path);
}

extern "C" __attribute__((visibility("default"))) int sample_unity_unload(const char* path) {
    return sample::unity::unload(path);
}
