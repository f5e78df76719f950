#include "trace/memory_reader.h"

#include "trace/text.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::array kDefinitions{"Memory.Init", "Memory.HeapSpec", "Memory.TagSpec",
                                  "Memory.CallstackSpec"};
/// Of a number that the file does not define.
constexpr const char* kUnknownHeap = "[unknown heap]";
constexpr const char* kUnknownTag = "[unknown tag]";
constexpr std::uint32_t kVideoHeap = 1;
constexpr unsigned kMostShift = 8;

}  // namespace

void MemoryReader::subscribe_definitions(EventReader& reader, const Wrap& wrap) {
    reader.subscribe("Memory.Init", wrap([this](const EventView& event) {
                         size_shift_ = event.number<unsigned>("SizeShift") % kMostShift;
                     }));
    reader.subscribe("Memory.HeapSpec", wrap([this](const EventView& event) { take_heap(event); }));
    reader.subscribe("Memory.TagSpec", wrap([this](const EventView& event) { take_tag(event); }));
    reader.subscribe("Memory.CallstackSpec",
                     wrap([this](const EventView& event) { take_stack(event); }));
}

void MemoryReader::skip_definitions(EventReader& reader) {
    for (const char* const name : kDefinitions) {
        reader.subscribe(name, [](const EventView&) { return std::nullopt; });
    }
}

void MemoryReader::subscribe_events(EventReader& reader, const Wrap& wrap) {
    reader.subscribe("Memory.Marker", wrap([this](const EventView& event) {
                         time_ns_ = reading_.time(event.number<std::uint64_t>("Cycle"));
                     }));
    reader.subscribe("Memory.MemoryScope",
                     wrap([this](const EventView& event) { take_scope(event); }));
    const auto on = [&](const std::string& what, MemoryKind kind) {
        for (const auto& [where, number] :
             {std::pair{"", std::uint32_t{0}}, {"System", 0}, {"Video", kVideoHeap}}) {
            const bool has_heap = *where == '\0';
            const std::uint32_t its_heap = number;
            reader.subscribe(
                "Memory." + what + where,
                wrap([this, kind, has_heap, its_heap](const EventView& event) {
                    const auto heap = has_heap ? event.number<std::uint32_t>("RootHeap") : its_heap;
                    gives_out(kind) ? take_alloc(event, kind, heap) : take_free(event, kind, heap);
                }));
        }
    };
    on("Alloc", MemoryKind::alloc);
    on("Free", MemoryKind::free);
    on("ReallocAlloc", MemoryKind::realloc_alloc);
    on("ReallocFree", MemoryKind::realloc_free);
    // What is given out of that block is told by itself: the block is no more memory in use.
    reader.subscribe("Memory.HeapMarkAlloc", wrap([this](const EventView& event) {
                         take_free(event, MemoryKind::realloc_free, 0);
                     }));
}

/// 0 is malloc's.
HeapId MemoryReader::heap(std::uint32_t number) {
    if (number == 0) {
        return {};
    }
    std::uint32_t id = heaps_.find(number);
    if (id == 0 && reading_.has_room(0, sizeof(Instrumentation))) {
        id = heaps_.add(number);
        reading_.hand_on(HeapSpec{HeapId{id}, kUnknownHeap});
    }
    return HeapId{id};
}

MemoryTagId MemoryReader::tag(std::int32_t number) {
    const auto key = static_cast<std::uint32_t>(number);
    std::uint32_t id = tags_.find(key);
    if (id == 0 && reading_.has_room(0, sizeof(Instrumentation))) {
        id = tags_.add(key);
        reading_.hand_on(MemoryTagSpec{MemoryTagId{id}, kUnknownTag});
    }
    return MemoryTagId{id};
}

void MemoryReader::take_heap(const EventView& event) {
    HeapSpec spec;
    const auto number = event.number<std::uint32_t>("Id");
    spec.name = bounded_text(event.text("Name"), kMaxTextBytes);
    if (number == 0 || heaps_.find(number) != 0 ||
        !reading_.has_room(0, spec.name.size() + sizeof(Instrumentation))) {
        return;
    }
    const auto parent = event.number<std::uint32_t>("ParentId");
    const bool is_root = (event.number<std::uint16_t>("Flags") & MemoryHeapSpecEvent::kRoot) != 0;
    spec.parent = is_root || parent == number ? HeapId{} : HeapId{heaps_.find(parent)};
    spec.id = HeapId{heaps_.add(number)};
    reading_.hand_on(spec);
}

void MemoryReader::take_tag(const EventView& event) {
    MemoryTagSpec spec;
    const auto number = static_cast<std::uint32_t>(event.number<std::int32_t>("Tag"));
    spec.name = bounded_text(event.text("Display"), kMaxTextBytes);
    if (tags_.find(number) != 0 ||
        !reading_.has_room(0, spec.name.size() + sizeof(Instrumentation))) {
        return;
    }
    const auto parent = static_cast<std::uint32_t>(event.number<std::int32_t>("Parent"));
    spec.parent = MemoryTagId{parent == number ? 0 : tags_.find(parent)};
    spec.id = MemoryTagId{tags_.add(number)};
    reading_.hand_on(spec);
}

void MemoryReader::take_stack(const EventView& event) {
    CallStack stack;
    stack.id = event.number<std::uint32_t>("CallstackId");
    const std::span<const std::byte> bytes = event.bytes("Frames");
    stack.frames.resize(std::min(bytes.size() / sizeof(std::uint64_t), CallStack::kMostFrames));
    if (stack.frames.empty() ||
        !reading_.has_room(0, stack.frames.size() * sizeof(std::uint64_t) + sizeof stack)) {
        return;
    }
    std::memcpy(stack.frames.data(), bytes.data(), stack.frames.size() * sizeof(std::uint64_t));
    reading_.hand_on(stack);
}

void MemoryReader::take_scope(const EventView& event) {
    std::vector<MemoryTagId>& open = scopes_[event.stream()];
    if (event.style() == EventStyle::leave) {
        if (!open.empty()) {
            open.pop_back();
            --open_scopes_;
        }
    } else if (event.style() == EventStyle::enter && open_scopes_ < kMostScopes) {
        open.push_back(tag(event.number<std::int32_t>("Tag")));
        ++open_scopes_;
    }
}

void MemoryReader::take_alloc(const EventView& event, MemoryKind kind, std::uint32_t number) {
    const auto lower = event.number<std::uint8_t>("AlignmentPow2_SizeLower");
    MemoryEvent out;
    out.kind = kind;
    out.bytes =
        (event.number<std::uint64_t>("Size") << size_shift_) | (lower & ((1U << size_shift_) - 1));
    out.alignment_log2 = static_cast<std::uint8_t>(lower >> size_shift_);
    out.heap = heap(number);
    out.call_stack = event.number<std::uint32_t>("CallstackId");
    if (stack_of_) {
        out.call_stack = stack_of_(out.call_stack);
    }
    if (const auto open = scopes_.find(event.stream());
        open != scopes_.end() && !open->second.empty()) {
        out.tag = open->second.back();
    }
    hand_on(event, out);
}

void MemoryReader::take_free(const EventView& event, MemoryKind kind, std::uint32_t number) {
    MemoryEvent out;
    out.kind = kind;
    out.heap = heap(number);
    hand_on(event, out);
}

void MemoryReader::hand_on(const EventView& from, MemoryEvent event) {
    event.thread = thread_of_(from.stream());
    if (event.thread.is_none()) {
        ++reading_.undefined;
        return;
    }
    event.address = from.number<std::uint64_t>("Address");
    event.time_ns = time_ns_;
    reading_.sink->memory(event);
}

}  // namespace sample::trace
