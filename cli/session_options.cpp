#include "cli/session_options.h"

namespace sample::cli {
namespace {

collector::SourceChoice source_choice(const std::string& name) {
    if (name == "sigtrap") {
        return collector::SourceChoice::sigtrap;
    }
    return name == "perf" ? collector::SourceChoice::perf : collector::SourceChoice::automatic;
}

}  // namespace

collector::SessionOptions session_options_of(const RecordOptions& options) {
    collector::SessionOptions session;
    session.frequency_hz = options.frequency_hz;
    session.source = source_choice(options.source);
    session.max_stack = options.max_stack;
    session.children = options.children;
    session.time = options.time;
    session.tool_version = SAMPLE_VERSION;
    return session;
}

}  // namespace sample::cli
