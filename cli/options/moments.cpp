// Which samples by time, and by what the program said meanwhile; and what categories are made of.
#include "cli/options/options.h"
#include "cli/refuse.h"

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace sample::cli {
namespace {

using analysis::FrameChoice;
using analysis::LabelBy;
using analysis::ProfileChoice;
using callgraph::CategoryBy;

bool is_number(std::string_view text) {
    return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

/// "1.2s": since the session's start. 0 is the start itself.
Result<std::uint64_t> moment(const std::string& option, const std::string& text) {
    const auto parsed = parse_duration_ns(text);
    const bool is_zero = parsed.problem == OptionProblem::out_of_range &&
                         text.find_first_of("123456789") == std::string::npos;
    if (!parsed.ok() && !is_zero) {
        return refuse("{} '{}' is no time: write how long after the start, as 500ms, 1.2s or 3m",
                      option, text);
    }
    return parsed.ok() ? parsed.value : 0;
}

Read moment_into(std::optional<std::uint64_t>& target) {
    return {[&target](const std::string& option, const std::string& text) -> Result<void> {
        SAMPLE_TRY(time_ns, moment(option, text));
        target = time_ns;
        return {};
    }};
}

/// "slowest:1%" or "slower:16ms", of one kind "render:slowest:1%".
Result<FrameChoice> frames_of(const std::string& option, const std::string& text) {
    constexpr double kWhole = 100;
    FrameChoice choice;
    std::string_view rest = text;
    const std::size_t last = rest.rfind(':');
    std::string_view value = last == std::string_view::npos ? "" : rest.substr(last + 1);
    rest = rest.substr(0, last);
    const std::size_t kind = rest.rfind(':');
    if (kind != std::string_view::npos) {
        choice.kind = rest.substr(0, kind);
        rest.remove_prefix(kind + 1);
    }
    if (rest == "slower") {
        if (const auto length = parse_duration_ns(value); length.ok()) {
            choice.slower_than_ns = length.value;
            return choice;
        }
    }
    if (rest == "slowest" && value.ends_with('%')) {
        value.remove_suffix(1);
        double percent = 0;
        const auto parsed = std::from_chars(value.data(), value.data() + value.size(), percent);
        if (parsed.ec == std::errc{} && parsed.ptr == value.data() + value.size() && percent > 0 &&
            percent <= kWhole) {
            choice.slowest_percent = percent;
            return choice;
        }
    }
    return refuse(
        "{} '{}' names no frames: write slowest:1%, slower:16ms, or with a kind in front, "
        "render:slowest:1%",
        option, text);
}

/// What a category is made of; by label, of which.
using By = std::pair<CategoryBy, LabelBy>;

Read by_into(ProfileChoice& choice) {
    const Words<By> words{{"process", {CategoryBy::process, LabelBy::nothing}},
                          {"thread", {CategoryBy::thread, LabelBy::nothing}},
                          {"module", {CategoryBy::module, LabelBy::nothing}},
                          {"zone", {CategoryBy::label, LabelBy::zone}},
                          {"frame", {CategoryBy::label, LabelBy::frame}}};
    return unless_empty(
        {[&choice, words](const std::string& option, const std::string& text) -> Result<void> {
             SAMPLE_TRY(by, find_word(words, option, text));
             choice.category = by.first;
             choice.labels.by = by.second;
             return {};
         },
         names_of(words)});
}

}  // namespace

void declare_labels(OptionParser& parser, ProfileChoice& choice) {
    parser.value("--category,--by", "KIND", by_into(choice),
                 "Top level of the callgraph: thread (default; names\n"
                 "that differ in a number alone are one), process,\n"
                 "module; zone (the innermost) or frame");
    parser.flag("--zones", choice.labels.zones,
                "Zones that were open have nodes in the callgraph,\n"
                "above the code that ran in them");
    parser.values("--in-zone", "NAME", into(choice.labels.in_zones),
                  "Only samples inside a zone that is called so\n"
                  "(repeatable)");
    parser.value("--in-frames", "WHICH",
                 unless_empty({[&choice](const std::string& option,
                                         const std::string& text) -> Result<void> {
                                   SAMPLE_TRY(frames, frames_of(option, text));
                                   choice.labels.moments.frames = frames;
                                   return {};
                               },
                               "slowest:1%, slower:16ms"}),
                 "Only samples in some frames: slowest:1%,\n"
                 "slower:16ms, or of a kind, render:slowest:1%");
    parser.pair("--between", "TEXT TEXT", choice.labels.moments.between,
                "Only samples from the one bookmark to the other");
    parser.value(
        "--from", "TIME|FORMAT",
        unless_empty(
            {[&choice](const std::string& option, const std::string& text) -> Result<void> {
                 if (is_number(text)) {
                     return moment_into(choice.labels.moments.from_ns).take(option, text);
                 }
                 SAMPLE_TRY(format, imports::find_format(text));
                 choice.from = format;
                 return {};
             },
             imports::format_names()}),
        "Only samples from TIME on, since the start (1.2s);\n"
        "or another profiler's format, if the file does not\n"
        "tell: " +
            imports::format_names());
    parser.value("--to", "TIME", unless_empty(moment_into(choice.labels.moments.to_ns)),
                 "Only samples before TIME, since the start");
}

}  // namespace sample::cli
