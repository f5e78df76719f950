#include "cli/record/session_options.h"

#include "sampler/source/event_spec.h"

namespace sample::cli {
collector::SessionOptions session_options_of(const RecordOptions& options) {
    collector::SessionOptions session;
    session.frequency_hz = options.frequency_hz;
    session.source = control::source_named(options.source);
    session.clock = options.clock == "wall" ? trace::Clock::wall : trace::Clock::cpu;
    session.event = options.event;
    session.max_stack = options.max_stack;
    session.children = options.children;
    session.time = options.time;
    session.tool_version = SAMPLE_VERSION;
    return session;
}

Result<void> check_event(const RecordOptions& options) {
    if (options.event.is_default()) {
        return {};
    }
    return source::check_event(options.event, control::source_named(options.source));
}

}  // namespace sample::cli
