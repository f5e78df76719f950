// Bookmarks and log messages, by time.
#include "cli/views/program_text.h"
#include "cli/views/program_views.h"

#include <string>
#include <vector>

namespace sample::cli {
namespace {

using analysis::Messages;

/// By trace::Verbosity.
constexpr const char* kVerbosities[] = {"none",    "fatal", "error",   "warning",
                                        "display", "log",   "verbose", "very verbose"};

Style style_of(trace::Verbosity verbosity) {
    return verbosity == trace::Verbosity::fatal || verbosity == trace::Verbosity::error
               ? Style::heavy
           : verbosity == trace::Verbosity::warning ? Style::warning
                                                    : Style::plain;
}

const char* kind_of(const trace::MessageSpec& spec) {
    const auto verbosity = static_cast<std::size_t>(spec.verbosity);
    return spec.is_bookmark                      ? "bookmark"
           : verbosity < std::size(kVerbosities) ? kVerbosities[verbosity]
                                                 : "log";
}

}  // namespace

std::string log_view(const analysis::ProgramRecording& recording, const ViewOptions& options) {
    std::vector<Messages::Line> lines;
    const Messages& messages = recording.events.messages;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Messages::Line line = messages.line(i);
        if (line.text.find(options.search) != std::string::npos ||
            line.spec->category.find(options.search) != std::string::npos) {
            lines.push_back(std::move(line));
        }
    }
    const auto of = values_of(lines);
    Table table;
    table.rows = lines.size();
    table.columns = {
        {"time_ns", "", Kind::count,
         of([&](const Messages::Line& each) { return when_ns(recording, each.time_ns); })},
        {"", "at s", Kind::figure,
         of([&](const Messages::Line& each) { return when_text(recording, each.time_ns); })},
        {"kind", "kind", Kind::word,
         of([](const Messages::Line& each) { return kind_of(*each.spec); })},
        {"category", is_narrow(options.terminal) ? "" : "category", Kind::word,
         of([](const Messages::Line& each) { return known(each.spec->category); })},
        {"thread", is_narrow(options.terminal) ? "" : "thread", Kind::word,
         of([&](const Messages::Line& each) { return recording.thread_name(each.thread); })},
        {"text", "", Kind::word, of(&Messages::Line::text)},
        {"file", "", Kind::word,
         of([](const Messages::Line& each) { return known(each.spec->file); })},
        {"line", "", Kind::id,
         of([](const Messages::Line& each) { return known(each.spec->line); })}};
    table.name_heading = "text";
    table.name = [&](std::size_t row, std::size_t room) {
        const Messages::Line& line = lines[row];
        return styled(options.terminal, style_of(line.spec->verbosity),
                      cut_end(printable(line.text), room, options.terminal));
    };
    table.empty = none_of("bookmarks and log messages", recording.session.stats.said.messages);
    return print(recording.session, options, "log", table, "");
}

}  // namespace sample::cli
