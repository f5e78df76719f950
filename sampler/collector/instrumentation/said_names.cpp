#include "sampler/collector/instrumentation/said_names.h"

#include "sampler/capture/channel_table.h"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace sample::collector {
namespace {

constexpr const char* kFurther = "[further names]";

std::string key_of(char kind, std::initializer_list<std::string_view> texts, std::uint64_t number) {
    std::string key(1, kind);
    for (const std::string_view text : texts) {
        key.append(text).push_back('\0');
    }
    return key + std::to_string(number);
}

}  // namespace

bool SaidNames::has_room(const std::string& key) {
    if (ids_.size() >= kMostNames || bytes_ + key.size() > kMostBytes) {
        ++beyond_;
        return false;
    }
    bytes_ += key.size();
    return true;
}

trace::ZoneId SaidNames::zone(trace::ZoneSpec spec) {
    std::string key = key_of('z', {spec.name, spec.category, spec.file}, spec.line);
    auto at = ids_.find(key);
    if (at == ids_.end() && !has_room(key)) {
        // The same for all of them; that one name more is always to be had.
        spec = {{}, kFurther};
        key = kFurther;
        at = ids_.find(key);
    }
    if (at == ids_.end()) {
        spec.id = trace::ZoneId{next_zone_++};
        sink_.instrumentation(spec);
        at = ids_.emplace(std::move(key), spec.id.value).first;
    }
    return trace::ZoneId{at->second};
}

trace::MessageId SaidNames::message(trace::MessageSpec spec) {
    std::string key = key_of(spec.is_bookmark ? 'b' : 'l', {spec.format, spec.category, spec.file},
                             spec.line * std::uint64_t{8} + static_cast<unsigned>(spec.verbosity));
    auto at = ids_.find(key);
    if (at == ids_.end()) {
        if (!has_room(key)) {
            return {};
        }
        spec.id = trace::MessageId{next_message_++};
        sink_.instrumentation(spec);
        at = ids_.emplace(std::move(key), spec.id.value).first;
    }
    return trace::MessageId{at->second};
}

trace::ChannelId SaidNames::channel(trace::Channel channel) {
    std::string key = key_of('c', {channel.name}, 0);
    auto at = ids_.find(key);
    if (at == ids_.end()) {
        if (!has_room(key)) {
            return {};
        }
        channel.id = trace::ChannelId{static_cast<std::uint32_t>(channels_.size()) + 1};
        if (!wanted_channels_.empty()) {
            channel.is_enabled =
                capture::is_channel_wanted(channel.name.c_str(), wanted_channels_.c_str());
        }
        sink_.instrumentation(channel);
        at = ids_.emplace(std::move(key), channel.id.value).first;
        channels_.push_back(std::move(channel));
    }
    return trace::ChannelId{at->second};
}

void SaidNames::switch_channels(const std::string& wanted) {
    wanted_channels_ = wanted;
    for (trace::Channel& channel : channels_) {
        const bool is_on = capture::is_channel_wanted(channel.name.c_str(), wanted.c_str());
        if (is_on != channel.is_enabled) {
            channel.is_enabled = is_on;
            sink_.instrumentation(trace::ChannelToggle{channel.id, is_on});
        }
    }
}

bool SaidNames::knows_channel(const std::string& name) const {
    return ids_.contains(key_of('c', {name}, 0));
}

trace::CounterId SaidNames::counter(trace::CounterSpec spec) {
    std::string key =
        key_of(spec.is_real ? 'r' : (spec.is_memory ? 'm' : 'i'), {spec.name}, spec.process.value);
    auto at = ids_.find(key);
    if (at == ids_.end()) {
        if (!has_room(key)) {
            return {};
        }
        spec.id = trace::CounterId{next_counter_++};
        sink_.instrumentation(spec);
        at = ids_.emplace(std::move(key), spec.id.value).first;
    }
    return trace::CounterId{at->second};
}

trace::EventTypeId SaidNames::event_type(trace::EventTypeSpec spec) {
    std::string fields;
    for (const trace::EventField& field : spec.fields) {
        fields.append(field.name).push_back('\0');
        fields.push_back(static_cast<char>(field.type_code));
    }
    std::string key = key_of('e', {spec.logger, spec.name, fields}, spec.flags);
    auto at = ids_.find(key);
    if (at == ids_.end()) {
        if (next_event_type_ > kMostEventTypes || !has_room(key)) {
            return {};
        }
        spec.id = trace::EventTypeId{next_event_type_++};
        sink_.instrumentation(spec);
        at = ids_.emplace(std::move(key), spec.id.value).first;
    }
    return trace::EventTypeId{at->second};
}

trace::HeapId SaidNames::heap(trace::HeapSpec spec) {
    std::string key = key_of('h', {spec.name}, spec.parent.value);
    auto at = ids_.find(key);
    if (at == ids_.end()) {
        if (next_heap_ > kMostHeaps || !has_room(key)) {
            return {};
        }
        spec.id = trace::HeapId{next_heap_++};
        sink_.instrumentation(spec);
        at = ids_.emplace(std::move(key), spec.id.value).first;
    }
    return trace::HeapId{at->second};
}

trace::MemoryTagId SaidNames::memory_tag(trace::MemoryTagSpec spec) {
    std::string key = key_of('t', {spec.name}, spec.parent.value);
    auto at = ids_.find(key);
    if (at == ids_.end()) {
        if (!has_room(key)) {
            return {};
        }
        spec.id = trace::MemoryTagId{next_memory_tag_++};
        sink_.instrumentation(spec);
        at = ids_.emplace(std::move(key), spec.id.value).first;
    }
    return trace::MemoryTagId{at->second};
}

void SaidNames::frame_kind(trace::FrameKind kind) {
    std::string key = key_of('f', {kind.name}, kind.kind);
    if (!ids_.contains(key) && has_room(key)) {
        sink_.instrumentation(kind);
        ids_.emplace(std::move(key), 0);
    }
}

}  // namespace sample::collector
