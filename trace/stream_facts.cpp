#include "trace/stream_facts.h"

#include "trace/text.h"
#include "trace/wire.h"

namespace sample::trace {
namespace {

constexpr std::string_view kClockType = "$Trace.NewTrace";
constexpr std::string_view kThreadType = "$Trace.ThreadInfo";
constexpr std::string_view kBaseType = "$Trace.ThreadTiming";

}  // namespace

bool StreamFacts::are_in(std::string_view type) {
    return type == kClockType || type == kThreadType || type == kBaseType;
}

void StreamFacts::learn(const EventView& event) {
    const std::string_view type = event.type().name;
    if (type == kClockType) {
        learn_clock(event);
    } else if (type == kThreadType) {
        learn_thread(event);
    } else if (type == kBaseType) {
        learn_base(event);
    }
}

const StreamThread* StreamFacts::thread(std::uint16_t stream) const {
    const auto found = threads_.find(stream);
    return found != threads_.end() ? &found->second : nullptr;
}

std::uint64_t StreamFacts::base_cycle(std::uint16_t stream) const {
    const auto found = bases_.find(stream);
    return found != bases_.end() ? found->second : clock_.start();
}

void StreamFacts::learn_clock(const EventView& event) {
    clock_ = CycleClock{event.number<std::uint64_t>("StartCycle"),
                        event.number<std::uint64_t>("CycleFrequency")};
}

void StreamFacts::learn_thread(const EventView& event) {
    const auto id = event.number<std::uint64_t>("ThreadId");
    if (id >= wire::kFirstThreadStream && id <= wire::kLastThreadStream) {
        threads_.insert_or_assign(static_cast<std::uint16_t>(id),
                                  StreamThread{event.number<std::uint32_t>("SystemId"),
                                               bounded_text(event.text("Name"), kMaxThreadName)});
    }
}

/// Writers differ in what the base is relative to: nothing, or the stream's start. What lies before
/// that start cannot be absolute.
void StreamFacts::learn_base(const EventView& event) {
    const auto base = event.number<std::uint64_t>("BaseTimestamp");
    const bool is_absolute = base >= clock_.start() && static_cast<std::int64_t>(base) >= 0;
    bases_.insert_or_assign(event.stream(), is_absolute ? base : clock_.start() + base);
}

}  // namespace sample::trace
