// What NVTX 3's headers, which programs have in themselves, and the library that
// NVTX_INJECTION64_PATH names have in common on 64-bit Linux: numbers, values and layouts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample::nvtx {

using FunctionPointer = void (*)();

/// From the number of a table to the table.
using GetExportTable = const void* (*)(std::uint32_t);
inline constexpr std::uint32_t kCallbacksTable = 1;

/// The table of callbacks. What `get_functions` gives is a list, by the functions' numbers, of
/// where their pointers are; 1: it did.
struct Callbacks {
    std::size_t bytes;
    int (*get_functions)(std::uint32_t module, FunctionPointer*** functions, unsigned* count);
};

enum class Module : std::uint32_t { core = 1, core2 = 5, sync = 6 };

enum class ColourType : std::int32_t { unknown = 0, argb = 1 };
enum class PayloadType : std::int32_t {
    unknown = 0,
    u64 = 1,
    i64 = 2,
    real64 = 3,
    u32 = 4,
    i32 = 5,
    real32 = 6
};
enum class MessageType : std::int32_t { unknown = 0, ascii = 1, wide = 2, registered = 3 };

struct Attributes {
    std::uint16_t version;
    std::uint16_t bytes;  ///< What the program has of it: newer ones may be longer.
    std::uint32_t category;
    ColourType colour_type;
    std::uint32_t colour;
    PayloadType payload_type;
    std::int32_t reserved;
    std::uint64_t payload;
    MessageType message_type;
    std::int32_t gap;
    const void* message;
};
static_assert(sizeof(Attributes) == 48 && offsetof(Attributes, message) == 40);

/// Of an object that threads wait for.
struct SyncAttributes {
    std::uint16_t version;
    std::uint16_t bytes;
    MessageType message_type;
    const void* message;
};
static_assert(sizeof(SyncAttributes) == 16);

}  // namespace sample::nvtx
