// A host that loads a plug-in by dlopen and shares the work with it.
//
//     plugin_host PLUGIN SECONDS [RELOADS]
//
// Stats: host_work does as many units as plugin_work, so each has 50 %. With RELOADS the plug-in is
// closed and loaded again so many times on the way. `reloads=` says how often it was.
#include "work.h"

#include <dlfcn.h>

using PluginWork = std::uint64_t (*)(std::uint64_t, unsigned);

TARGET_KEEP std::uint64_t host_work(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

static PluginWork entry_of(void* plugin) {
    // dlsym has no other way to give a function (POSIX, dlsym, application usage).
    return plugin != nullptr ? reinterpret_cast<PluginWork>(dlsym(plugin, "plugin_work")) : nullptr;
}

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("PLUGIN SECONDS [RELOADS]");
    }
    const unsigned long reloads = argc > 3 ? targets::number(argv[3]) : 0;
    targets::Rounds rounds{targets::Budget{targets::seconds_to_ns(argv[2]), 0}};
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    PluginWork work = entry_of(plugin);
    std::uint64_t state = 88172645463325252U;
    unsigned long reloaded = 0;
    while (work != nullptr && rounds.next()) {
        const auto units = static_cast<unsigned>(1 + (state >> 40U) % 200);
        state = work(host_work(state, units), units);
        if (reloaded < reloads) {
            dlclose(plugin);
            plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            work = entry_of(plugin);
            ++reloaded;
        }
    }
    if (work == nullptr) {
        std::fprintf(stderr, "plugin_host: %s\n", dlerror());  // NOLINT(concurrency-mt-unsafe)
        return 1;
    }
    targets::consume(state);
    rounds.tell_stats();
    targets::tell("reloads", reloaded);
}
