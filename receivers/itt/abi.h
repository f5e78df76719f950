// What the ITT interface's static part, which programs have in themselves, and the library that
// INTEL_LIBITTNOTIFY64 names have in common on 64-bit Linux: names, values and layouts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample::itt {

/// Passed by value, in memory.
struct Id {
    std::uint64_t d1;
    std::uint64_t d2;
    std::uint64_t d3;

    [[nodiscard]] bool is_null() const noexcept { return d1 == 0 && d2 == 0 && d3 == 0; }
};

/// Programs look at `flags` themselves: 0, and they say nothing in this domain.
struct Domain {
    int flags;
    const char* name;
    void* wide_name;
    int extra1;
    void* extra2;  ///< Ours: what is known of it (itt/handles.h).
    Domain* next;
};
static_assert(sizeof(Domain) == 48);

struct StringHandle {
    const char* text;
    void* wide_text;
    int extra1;
    void* extra2;  ///< Ours.
    StringHandle* next;
};
static_assert(sizeof(StringHandle) == 40);

/// What a counter handle points to.
struct CounterInfo {
    const char* name;
    void* wide_name;
    const char* domain;
    void* wide_domain;
    int type;  ///< MetadataType.
    long index;
    int extra1;
    void* extra2;  ///< Ours.
    CounterInfo* next;
};
static_assert(sizeof(CounterInfo) == 72);

enum class MetadataType : int {
    unknown = 0,
    u64 = 1,
    s64 = 2,
    u32 = 3,
    s32 = 4,
    u16 = 5,
    s16 = 6,
    real32 = 7,
    real64 = 8
};

/// An entry of the static part's table of functions.
struct ApiEntry {
    const char* name;  ///< "__itt_…"; null behind the last.
    void** function;
    void* initial;
    void* none;
    int group;
};
static_assert(sizeof(ApiEntry) == 40);

inline constexpr unsigned char kMagic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};

/// One of each static part, as far as all versions since 2018 have it.
struct Global {
    unsigned char magic[8];
    unsigned long version_major;
    unsigned long version_minor;
    unsigned long version_build;
    long initialized[3];
    std::uint64_t mutex[5];
    void* library;
    void* error_handler;
    const char** library_path;
    ApiEntry* api_list;
    Global* next;
    void* thread_list;
    Domain* domain_list;
    StringHandle* string_list;
};
static_assert(offsetof(Global, library) == 96 && offsetof(Global, api_list) == 120 &&
              offsetof(Global, domain_list) == 144 && offsetof(Global, string_list) == 152);

}  // namespace sample::itt
