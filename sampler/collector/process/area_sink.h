// What the records of a drained area go to, and what such records are once they are put together.
#pragma once

#include "sampler/capture/ring_records.h"

#include <cstdint>
#include <span>

namespace sample::collector {

/// Who wrote a record.
struct Writer {
    std::uint32_t slot = 0;  ///< A number among the threads that live, and nobody else's.
    std::uint32_t tid = 0;   ///< As the slot has it, for who has not seen the thread's start.
};

/// One sample, its whole stack put together again. Valid during the call only.
struct DrainedSample {
    std::uint64_t ticks = 0;
    std::uint64_t weight_ns = 0;
    std::uint64_t unseen_ns = 0;
    std::uint32_t stop = 0;
    std::uint32_t kept =
        0;  ///< Frames, from the root, that equal those of the slot's previous sample.
    std::span<const std::uint64_t> frames;  ///< FrameAddress bits, ROOT first.
};

/// Where a thread was seen to wait, or only its clocks.
struct DrainedWait {
    capture::WaitRecord record;
    std::span<const std::uint64_t> frames;  ///< FrameAddress bits, ROOT first.
};

class AreaSink {
public:
    AreaSink() = default;
    AreaSink(const AreaSink&) = delete;
    AreaSink& operator=(const AreaSink&) = delete;
    virtual ~AreaSink() = default;
    virtual void on_sample(const Writer& writer, const DrainedSample& sample) = 0;
    virtual void on_thread_start(const Writer& writer, const capture::ThreadRecord& record) = 0;
    /// The last that comes of the thread.
    virtual void on_thread_end(const Writer& writer, const capture::ThreadRecord& record) = 0;
    virtual void on_module(const Writer& writer, const capture::ModuleRecord& record,
                           const char* path) = 0;
    virtual void on_unload(const Writer& writer) = 0;
    /// `writer` is the thread which has seen it.
    virtual void on_wait(const Writer& writer, const DrainedWait& wait) = 0;
    /// What the thread says of itself (capture/lane_records.h): whole records, in their order.
    virtual void on_said(const Writer& /*writer*/, std::span<const std::uint64_t> /*words*/) {}
    /// It could not say so many more, for want of room. False: the thread's start has not come yet;
    /// then these are told again.
    virtual bool on_unsaid(const Writer& /*writer*/, std::uint64_t /*zones*/,
                           std::uint64_t /*others*/) {
        return true;
    }
    /// There was no room for all threads' last stacks: what is kept of them may go, too.
    virtual void on_stacks_dropped() {}
};

}  // namespace sample::collector
