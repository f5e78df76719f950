#include "cli/record/session_options.h"

#include "sampler/source/event_check.h"

namespace sample::cli {
namespace {

control::Source source_of(const std::string& name) {
    using control::Source;
    if (name == "sigtrap") {
        return Source::sigtrap;
    }
    if (name == "perf") {
        return Source::perf;
    }
    if (name == "thread") {
        return Source::thread;
    }
    return name == "timer" ? Source::timer : Source::none;
}

}  // namespace

collector::SessionOptions session_options_of(const RecordOptions& options) {
    collector::SessionOptions session;
    session.frequency_hz = options.frequency_hz;
    session.source = source_of(options.source);
    session.clock = options.clock == "wall" ? trace::Clock::wall : trace::Clock::cpu;
    session.event = options.event;
    session.max_stack = options.max_stack;
    session.children = options.children;
    session.time = options.time;
    session.tool_version = SAMPLE_VERSION;
    return session;
}

Result<void> check_event(const RecordOptions& options) {
    using source::EventSource;
    if (options.event.is_default()) {
        return {};
    }
    EventSource source = EventSource::best;
    if (options.source != "auto") {
        source = options.source == "perf" ? EventSource::perf : EventSource::sigtrap;
    }
    return source::check_event(options.event, source);
}

}  // namespace sample::cli
