// The ids that the recording has for what programs say: zones, messages, channels and types of
// events of all its processes, by what they are called.
//
// Memory of ours that programs fill: what comes beyond its limits shares one id. Not thread-safe.
#pragma once

#include "trace/record_sink.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::collector {

class SaidNames {
public:
    static constexpr std::size_t kMostNames = std::size_t{1} << 18U;
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
    /// A file has numbers for about twice as many.
    static constexpr std::uint32_t kMostEventTypes = 1U << 14U;
    /// A file has a byte for them.
    static constexpr std::uint32_t kMostHeaps = 255;

    explicit SaidNames(trace::RecordSink& sink) : sink_{sink} {}

    /// The id of such a zone, which the sink hears of before it is used; `spec.id` is of no matter,
    /// here and in the others.
    trace::ZoneId zone(trace::ZoneSpec spec);
    trace::MessageId message(trace::MessageSpec spec);
    trace::ChannelId channel(trace::Channel channel);
    /// From now on those of `wanted` are on, which are separated by commas, also where a definition
    /// that was made before says otherwise.
    void switch_channels(const std::string& wanted);
    [[nodiscard]] bool knows_channel(const std::string& name) const;
    /// A counter that is nobody else's.
    trace::CounterId counter(trace::CounterSpec spec);
    trace::ZoneNoteId next_note() { return trace::ZoneNoteId{next_note_++}; }
    /// None: there is no room for it.
    trace::EventTypeId event_type(trace::EventTypeSpec spec);
    void frame_kind(trace::FrameKind kind);
    /// None: there is no room for it.
    trace::HeapId heap(trace::HeapSpec spec);
    trace::MemoryTagId memory_tag(trace::MemoryTagSpec spec);

    /// There was no room for so many.
    [[nodiscard]] std::uint64_t beyond() const { return beyond_; }

private:
    /// Whether there is room for one more name.
    bool has_room(const std::string& key);
    template <class Spec>
    auto add(Spec spec, std::string key);

    trace::RecordSink& sink_;
    std::unordered_map<std::string, std::uint32_t> ids_;
    std::vector<trace::Channel> channels_;
    std::string wanted_channels_;  ///< Empty: they were not switched.
    std::size_t bytes_ = 0;
    std::uint64_t beyond_ = 0;
    std::uint32_t next_zone_ = 1;
    std::uint32_t next_message_ = 1;
    std::uint32_t next_counter_ = 1;
    std::uint32_t next_note_ = 1;
    std::uint32_t next_event_type_ = 1;
    std::uint32_t next_heap_ = 1;
    std::uint32_t next_memory_tag_ = 1;
};

}  // namespace sample::collector
