// What programs that say things by ITT have in themselves: a table of functions, which the library
// that INTEL_LIBITTNOTIFY64 names fills with the first call. Layouts of 64-bit Linux; each file
// that includes this has a table of its own.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace itt_static {

struct Domain {
    int flags;
    const char* name;
    void* wide;
    int extra1;
    void* extra2;
    Domain* next;
};
struct Text {
    const char* text;
    void* wide;
    int extra1;
    void* extra2;
    Text* next;
};
struct Counter;
struct Id {
    std::uint64_t d1;
    std::uint64_t d2;
    std::uint64_t d3;
};
struct Entry {
    const char* name;
    void** function;
    void* initial;
    void* none;
    int group;
};
struct Global {
    unsigned char magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};
    unsigned long version[3] = {3, 26, 20250807};
    long state[3] = {};
    std::uint64_t mutex[5] = {};
    void* library = nullptr;
    void* error_handler = nullptr;
    const char** path = nullptr;
    Entry* table = nullptr;
    Global* next = nullptr;
    void* threads = nullptr;
    Domain* domains = nullptr;
    Text* texts = nullptr;
    std::uint64_t newer[8] = {};
};

inline constexpr const char* kNames[] = {
#include "itt_names.inc"
};
inline constexpr std::size_t kCount = sizeof kNames / sizeof kNames[0];

inline void nobody() {}

struct Part {
    void* functions[kCount] = {};
    Entry entries[kCount + 1] = {};
    char names[kCount][64] = {};
    Global global;

    /// False: there is no library.
    bool load() {
        for (std::size_t i = 0; i < kCount; ++i) {
            std::strcat(std::strcpy(names[i], "__itt_"), kNames[i]);
            entries[i] = {names[i], &functions[i], nullptr, reinterpret_cast<void*>(nobody), 0};
        }
        global.table = entries;
        const char* const path = std::getenv("INTEL_LIBITTNOTIFY64");
        void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
        if (library == nullptr) {
            return false;
        }
        const auto init =
            reinterpret_cast<void (*)(Global*, int)>(dlsym(library, "__itt_api_init"));
        init(&global, -1);
        return true;
    }

    /// Calls the function of that name, if there is one.
    template <class Result = void, class... Parameters>
    Result call(const char* name, Parameters... parameters) const {
        for (std::size_t i = 0; i < kCount; ++i) {
            if (std::strcmp(kNames[i], name) == 0 && functions[i] != nullptr &&
                functions[i] != reinterpret_cast<void*>(nobody)) {
                return reinterpret_cast<Result (*)(Parameters...)>(functions[i])(parameters...);
            }
        }
        return Result();
    }
};

}  // namespace itt_static
