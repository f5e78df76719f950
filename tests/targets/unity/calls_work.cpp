// A program with a plug-in whose work it calls three times. The host has loaded it before.
#include <dlfcn.h>

#include <cstdio>

int main(int count, char** words) {
    void* const plugin = count > 1 ? dlopen(words[1], RTLD_NOW) : nullptr;
    using Work = void (*)();
    const auto work =
        plugin == nullptr ? nullptr : reinterpret_cast<Work>(dlsym(plugin, "work_of_plugin"));
    if (work == nullptr) {
        std::fprintf(stderr, "usage: unity_calls_work PLUGIN\n");
        return 2;
    }
    for (int i = 0; i < 3; ++i) {
        work();
    }
    return 0;
}
