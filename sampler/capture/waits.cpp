#include "sampler/capture/waits.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/libraries.h"
#include "unwind/walk/guess.h"

namespace sample::capture {
namespace {

WaitRecord record_of(const WaitSighting& seen, WaitKind kind) noexcept {
    WaitRecord record;
    record.head.kind = RecordKind::wait;
    record.head.b = static_cast<std::uint16_t>(kind);
    record.tid = seen.tid;
    record.ticks = seen.ticks;
    record.cpu_ns = seen.cpu_ns;
    record.processor_wait_ns = seen.processor_wait_ns;
    return record;
}

void write_stack(Area& area, ThreadState& thread, WaitRecord record,
                 std::span<const FrameAddress> frames) noexcept {
    constexpr std::uint32_t kHeadWords = sizeof(WaitRecord) / 8;
    const auto words = static_cast<std::uint32_t>(kHeadWords + frames.size());
    const Reservation room = reserve_anywhere(area, thread, words);
    if (room.words == nullptr) {
        return;
    }
    record.head.size_words = static_cast<std::uint16_t>(words);
    record.head.a = static_cast<std::uint16_t>(frames.size());
    __builtin_memcpy(room.words, &record, sizeof record);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        room.words[kHeadWords + i] = frames[i].bits();
    }
    commit(thread, room);
}

/// rbp is unknown. Where a caller's rule needs it, the place that leads to the root is taken; a few
/// are tried.
unwind::WalkResult walk_waiting(const unwind::ModuleTable& modules,
                                const unwind::Registers& registers, unwind::StackMemory& memory,
                                std::span<FrameAddress> frames) noexcept {
    constexpr int kTries = 16;
    unwind::RowCache rows = row_cache();
    const unwind::WalkResult plain = unwind::walk(modules, rows, registers, memory, frames);
    if (plain.reason == unwind::StopReason::root) {
        return plain;
    }
    unwind::Registers guessed = registers;
    std::uint64_t from = registers.sp();
    for (int i = 0; i < kTries; ++i) {
        const std::uint64_t record = unwind::find_frame_record(modules, from, memory);
        if (record == 0) {
            break;
        }
        guessed.value[unwind::Registers::kBp] = record;
        unwind::WalkResult walked = unwind::walk(modules, rows, guessed, memory, frames);
        if (walked.reason == unwind::StopReason::root) {
            ++walked.guessed;
            return walked;
        }
        from = record + 16;
    }
    return unwind::walk(modules, rows, registers, memory, frames);
}

}  // namespace

unwind::StopReason report_wait(Area& area, ThreadState& thread, const WaitSighting& seen,
                               const unwind::Registers& registers, unwind::StackMemory& memory,
                               std::span<FrameAddress> frames) noexcept {
    const LibraryReader reader{LibraryReader::Of::ours};
    const unwind::ModuleTable modules = readable_modules(reader.allowed());
    const unwind::WalkResult walked = walk_waiting(modules, registers, memory, frames);
    const std::span<const FrameAddress> found = frames.first(walked.depth);
    forget_unloaded_libraries(area, thread, modules.generation());
    if (reader.allowed()) {
        report_new_libraries(area, thread, modules, found);
    }
    WaitRecord record = record_of(seen, WaitKind::stack);
    record.stop = stop_word(walked, reader.allowed());
    write_stack(area, thread, record, found);
    return walked.reason;
}

void report_clocks(Area& area, ThreadState& thread, const WaitSighting& seen,
                   WaitKind kind) noexcept {
    write_record(area, thread, record_of(seen, kind));
}

}  // namespace sample::capture
