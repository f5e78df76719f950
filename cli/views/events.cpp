// The program's own events, by type. What one of them says in full is `sample trace dump`'s matter.
#include "cli/views/program_text.h"
#include "cli/views/program_views.h"
#include "trace/wire.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

using analysis::OwnEventTotals;

/// "u32", "i64[]", "AnsiString": by the container's type byte (trace/event_spec.h).
std::string type_text(std::uint8_t code) {
    constexpr unsigned kArray = 0x80;
    constexpr unsigned kReal = 0x40;
    constexpr unsigned kSigned = 0x10;
    constexpr unsigned kText = 0x08;
    constexpr unsigned kSize = 0x03;
    constexpr unsigned kByteBits = 8;
    if ((code & kArray) != 0 && (code & kText) != 0) {
        return (code & kSize) == 0 ? "AnsiString" : "WideString";
    }
    const char kind = (code & kReal) != 0 ? 'f' : (code & kSigned) != 0 ? 'i' : 'u';
    return fmt::format("{}{}{}", kind, kByteBits << (code & kSize),
                       (code & kArray) != 0 ? "[]" : "");
}

std::string name_of(const OwnEventTotals& of) {
    return of.type.logger + "." + of.type.name;
}

/// "RainbowLogger.ZippyEvent(u32 Number, i64[] Values)".
std::string declaration_of(const OwnEventTotals& of) {
    std::string text = name_of(of) + "(";
    for (const trace::EventField& field : of.type.fields) {
        text.append(text.back() == '(' ? "" : ", ").append(type_text(field.type_code));
        text.append(" ").append(field.name);
    }
    return text + ")";
}

Json fields_json(const OwnEventTotals& of) {
    Json fields = Json::array();
    for (const trace::EventField& field : of.type.fields) {
        fields.push_back({{"name", field.name}, {"type", type_text(field.type_code)}});
    }
    return fields;
}

bool is_important(const OwnEventTotals& of) {
    return (of.type.flags & trace::wire::kImportant) != 0;
}

bool is_unordered(const OwnEventTotals& of) {
    return (of.type.flags & trace::wire::kNoSync) != 0;
}

Json thread_names(const analysis::ProgramRecording& recording, const OwnEventTotals& of) {
    Json names = Json::array();
    for (const ThreadId thread : of.threads) {
        names.push_back(recording.thread_name(thread));
    }
    return names;
}

/// `rows` and `recording` outlive it.
std::vector<Column> columns_of(const std::vector<const OwnEventTotals*>& rows,
                               const analysis::ProgramRecording& recording, bool is_wide) {
    constexpr double kTenths = 10;
    const auto of = [&rows](auto get) {
        return [&rows, get](std::size_t row) { return Json(std::invoke(get, *rows[row])); };
    };
    const auto if_timed = [&of](auto get) {
        return of([get](const OwnEventTotals& each) {
            return each.timed == 0 ? Json{} : Json(get(each));
        });
    };
    return {
        {"logger", "", Kind::word, of([](const OwnEventTotals& each) { return each.type.logger; })},
        {"event", "", Kind::word, of([](const OwnEventTotals& each) { return each.type.name; })},
        {"count", "events", Kind::count, of(&OwnEventTotals::count)},
        {"scopes", "", Kind::count, of(&OwnEventTotals::scopes)},
        {"timed", "", Kind::count, of(&OwnEventTotals::timed)},
        {"bytes", "bytes", Kind::count, of(&OwnEventTotals::bytes)},
        {"per_second", "", Kind::count, if_timed([](const OwnEventTotals& each) {
             return std::round(each.per_second() * kTenths) / kTenths;
         })},
        {"", "per second", Kind::figure,
         if_timed([](const OwnEventTotals& each) { return decimal(each.per_second(), 1); })},
        {"first_ns", "", Kind::count,
         if_timed([&](const OwnEventTotals& each) { return when_ns(recording, each.first_ns); })},
        {"", is_wide ? "first at s" : "", Kind::figure,
         if_timed([&](const OwnEventTotals& each) { return when_text(recording, each.first_ns); })},
        {"last_ns", "", Kind::count,
         if_timed([&](const OwnEventTotals& each) { return when_ns(recording, each.last_ns); })},
        {"", is_wide ? "last at s" : "", Kind::figure,
         if_timed([&](const OwnEventTotals& each) { return when_text(recording, each.last_ns); })},
        {"", is_wide ? "threads" : "", Kind::figure,
         of([](const OwnEventTotals& each) { return std::to_string(each.threads.size()); })},
        {"threads", "", Kind::word,
         of([&](const OwnEventTotals& each) { return thread_names(recording, each); })},
        {"important", "", Kind::word, of(is_important)},
        {"no_sync", "", Kind::word, of(is_unordered)},
        {"", "flag", Kind::word, of([](const OwnEventTotals& each) {
             return is_important(each) ? "Important" : is_unordered(each) ? "NoSync" : "";
         })},
        {"fields", "", Kind::word, of(fields_json)}};
}

}  // namespace

std::string events_view(const analysis::ProgramRecording& recording, const ViewOptions& options) {
    std::vector<const OwnEventTotals*> rows;
    std::uint64_t timeless = 0;
    for (const OwnEventTotals& each : recording.own_events) {
        if (name_of(each).find(options.search) != std::string::npos) {
            rows.push_back(&each);
            timeless += each.count - each.timed;
        }
    }
    Table table;
    table.rows = rows.size();
    table.columns = columns_of(rows, recording, !is_narrow(options.terminal));
    table.name_heading = "event";
    table.name = [&](std::size_t row, std::size_t room) {
        return cut_end(printable(declaration_of(*rows[row])), room, options.terminal);
    };
    table.empty = none_of("events of its own", recording.session.stats.said.events);
    std::string below;
    if (timeless != 0) {
        below = fmt::format("{} without a time: in events and bytes, not in the others\n",
                            counted(timeless, "event"));
    }
    return print(recording.session, options, "events", table, std::move(below));
}

}  // namespace sample::cli
