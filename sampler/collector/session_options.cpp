#include "sampler/collector/session_options.h"

#include "sampler/collector/process/tick_clock.h"

namespace sample::collector {

trace::SessionStart SessionOptions::start_now() const {
    trace::SessionStart start;
    const auto delay_ns = static_cast<std::uint64_t>(delay.count());
    start.start_ns = monotonic_ns() + delay_ns;
    start.start_unix_ns = realtime_ns() + delay_ns;
    start.period = expiry_period();
    start.requested_hz = event.is_clock ? frequency_hz : 0;
    start.event = event.is_default() ? "" : event.name;
    start.unit = event.is_clock ? "" : event.unit;
    start.clock = clock;
    start.command_line = command_line;
    start.tool_version = tool_version;
    return start;
}

}  // namespace sample::collector
