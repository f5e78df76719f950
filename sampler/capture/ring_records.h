// The records inside a chunk. All start with RecordHead, are 8-byte aligned and whole.
//
// Encoding for the fastest write, not for the smallest file: raw words, and of a stack only the
// frames that differ from the thread's last published one in the same chunk (kept_frames are shared
// from the root side).
#pragma once

#include <array>
#include <cstdint>

namespace sample::capture {

enum class RecordKind : std::uint16_t {
    none = 0,
    sample = 1,
    thread_start = 2,
    thread_end = 3,
    module = 4,
    unload = 5,
    wait = 6,
};

struct RecordHead {
    RecordKind kind = RecordKind::none;
    std::uint16_t size_words = 0;  ///< Of the whole record, in 8-byte words.
    std::uint16_t a = 0;
    std::uint16_t b = 0;
};
static_assert(sizeof(RecordHead) == 8);

/// Followed by new_frames words: FrameAddress bits, leaf first. Where the stack was deeper than the
/// limit and its root end is known, one of them is FrameAddress::elided().
/// head.a = new frames, head.b = kept frames.
struct SampleRecord {
    RecordHead head;
    std::uint64_t ticks = 0;
    std::uint64_t weight_ns = 0;
    std::uint32_t unseen_ns =
        0;  ///< Kernel time that the source could not see, saturated; not in weight_ns.
    std::uint32_t stop = 0;  ///< unwind::StopReason in the low 8 bits, and flags.
};
static_assert(sizeof(SampleRecord) == 32);

// SampleRecord::stop
inline constexpr std::uint32_t kStopReasonMask = 0xff;
/// At least one frame of the stack was guessed, be it among those that were left out.
inline constexpr std::uint32_t kStopGuessed = 0x100;
/// Libraries that came after the start were not named before this sample, as one was being
/// unloaded.
inline constexpr std::uint32_t kStopUnnamed = 0x200;

struct ThreadRecord {
    RecordHead head;
    std::uint32_t tid = 0;
    std::uint32_t is_observer = 0;  ///< A thread of ours, none of the program's.
    std::uint64_t ticks = 0;
    std::uint64_t cpu_ns =
        0;  ///< start: already spent, not sampled. end: the thread's whole CPU time.
    std::array<char, 16> name{};
};
static_assert(sizeof(ThreadRecord) == 48);

/// Followed by the path, padded to words. head.a = bytes of the path, head.b = bytes of the
/// build-id.
struct ModuleRecord {
    RecordHead head;
    std::uint64_t ticks = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t bias = 0;  ///< Run-time address minus ELF virtual address.
    std::uint32_t flags = 0;
    std::uint32_t reserved = 0;
    std::array<std::uint8_t, 32> build_id{};
};

/// Libraries may have gone: those that this slot has reported count no longer.
struct UnloadRecord {
    RecordHead head{RecordKind::unload};
};
static_assert(sizeof(UnloadRecord) == 8);

/// What the thread of ours is called that watches the others.
inline constexpr const char* kSamplingThreadName = "sample-agent";

/// WaitRecord: head.b.
enum class WaitKind : std::uint16_t {
    clocks = 0,   ///< The thread runs, or where it waits is not known.
    goes_on = 1,  ///< It waits where the last record of it says.
    ended = 2,    ///< It waited there until now, and runs.
    stack = 3,    ///< It waits in the stack that follows.
    missed = 4,   ///< It was not looked at for long: where it waited meanwhile is not known.
};

/// What a thread of ours has seen of the thread `tid`. Followed by head.a words: FrameAddress bits,
/// leaf first.
struct WaitRecord {
    RecordHead head;
    std::uint32_t tid = 0;
    std::uint32_t stop = 0;  ///< As SampleRecord::stop.
    std::uint64_t ticks = 0;
    std::uint64_t cpu_ns = 0;             ///< The thread's CPU clock.
    std::uint64_t processor_wait_ns = 0;  ///< Waited for a processor since it began.
};
static_assert(sizeof(WaitRecord) == 40);

// ModuleRecord::flags
inline constexpr std::uint32_t kModulePlugin = 1;  ///< Loaded after the start.
inline constexpr std::uint32_t kModuleVdso = 2;
inline constexpr std::uint32_t kModuleAgent = 4;  ///< Our own library: its frames are left out.

}  // namespace sample::capture
