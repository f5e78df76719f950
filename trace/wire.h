// Numbers of the .utrace container, and little-endian loads and stores.
//
// A file is a header and then packets; a packet belongs to one stream, named by its tid; the
// payloads of one stream, joined, are a row of events. docs/format-utrace.md is the reference;
// whoever changes a number here changes that page.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace sample::trace::wire {

static_assert(std::endian::native == std::endian::little, "the container is little-endian");

inline constexpr std::uint8_t kTransportTidPacket = 3;  ///< The same without sync packets.
inline constexpr std::uint8_t kTransportTidPacketSync = 4;
inline constexpr std::uint8_t kFirstProtocol = 5;  ///< Of those that we read.
inline constexpr std::uint8_t kProtocol = 7;

inline constexpr std::uint16_t kSchemaStream = 0;
inline constexpr std::uint16_t kImportantStream = 1;
inline constexpr std::uint16_t kFirstThreadStream = 2;
inline constexpr std::uint16_t kLastThreadStream = 0x3ffd;
inline constexpr std::uint16_t kThreadListStream = 0x3ffe;  ///< Importants, framed as a thread's.
inline constexpr std::uint16_t kSyncStream = 0x3fff;
inline constexpr std::uint16_t kTidMask = 0x3fff;
inline constexpr std::uint16_t kSerialBit = 0x4000;
inline constexpr std::uint16_t kLz4Bit = 0x8000;

inline constexpr std::size_t kPacketHeaderBytes = 4;  ///< u16 size, u16 tid.
inline constexpr std::size_t kLz4HeaderBytes = 6;     ///< The same and u16 decoded size.
inline constexpr std::size_t kMaxPayloadBytes = 4096;
inline constexpr std::size_t kMinCompressedBytes = 385;

inline constexpr std::uint16_t kNewEventUid = 0;
inline constexpr std::uint16_t kAuxUid = 1;
inline constexpr std::uint16_t kAuxEndUid = 3;
// Scopes of a thread: entered and left, without and with a time since $Trace.ThreadTiming's.
inline constexpr std::uint8_t kEnterScopeUid = 4;
inline constexpr std::uint8_t kLeaveScopeUid = 5;
inline constexpr std::uint8_t kEnterTimedScopeUid = 8;
inline constexpr std::uint8_t kLeaveTimedScopeUid = 9;
inline constexpr std::uint16_t kFirstUserUid = 16;
inline constexpr std::size_t kMaxRecordBytes = 0xffff;  ///< Of streams 0 and 1: a u16 size.

// An event type's flags.
inline constexpr std::uint8_t kImportant = 1;    ///< Travels in stream 1, framed by its size.
inline constexpr std::uint8_t kMaybeHasAux = 2;  ///< Fields of variable size follow fixed ones.
inline constexpr std::uint8_t kNoSync = 4;       ///< No serial number.

/// Of an event that has one, behind its uid.
inline constexpr std::size_t kSerialBytes = 3;

/// Reads a T from the first bytes of `in`, which has sizeof(T) of them.
template <class T>
[[nodiscard]] T load(const std::byte* in) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, in, sizeof value);
    return value;
}

/// Appends the `bytes` low bytes of `value`.
inline void append(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        out.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
}

inline void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace sample::trace::wire
