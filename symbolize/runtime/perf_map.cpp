// /tmp/perf-PID.map: a line for each piece of code that a JIT compiler has made.
//
//     START SIZE name that may have spaces        both hexadecimal, with or without 0x
//
// Lines are written in the order in which code was made, so of overlapping ones the last one wins.
// Source: Linux tools/perf/Documentation/jit-interface.txt.
#include "core/units.h"
#include "symbolize/runtime/latest_code.h"
#include "symbolize/runtime/runtime_code.h"
#include "symbolize/runtime/runtime_names.h"

#include <charconv>
#include <limits>
#include <unordered_map>

namespace sample::symbolize {
namespace {

struct Line {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::string_view name;
};

/// Takes a hexadecimal number and the space behind it off the front.
bool take_number(std::string_view& text, std::uint64_t& number) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        text.remove_prefix(2);
    }
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number, kHexadecimal);
    if (error != std::errc{} || rest == end || *rest != ' ') {
        return false;
    }
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()) + 1);
    return true;
}

bool parse_line(std::string_view text, Line& line) {
    if (!text.empty() && text.back() == '\r') {
        text.remove_suffix(1);
    }
    if (!take_number(text, line.start) || !take_number(text, line.size) || text.empty()) {
        return false;
    }
    line.size = std::min(line.size, std::numeric_limits<std::uint64_t>::max() - line.start);
    line.name = text.substr(0, kMaxNameBytes);
    return true;
}

std::string_view line_at(std::string_view text, std::size_t offset) {
    return text.substr(offset, text.find('\n', offset) - offset);
}

}  // namespace

RuntimeCode read_perf_map(std::string_view text, std::span<const std::uint64_t> addresses) {
    LatestCode latest{addresses};
    Line line;
    for (std::size_t offset = 0; offset < text.size();) {
        const std::string_view whole = line_at(text, offset);
        if (parse_line(whole, line)) {
            latest.add(line.start, line.start + line.size, offset);
        }
        offset += whole.size() + 1;
    }
    RuntimeCode code;
    std::unordered_map<std::uint64_t, std::uint32_t> functions;  // by the line's offset
    for (const std::uint64_t address : addresses) {
        const auto offset = latest.find(address);
        if (!offset) {
            code.locations.emplace_back();
            continue;
        }
        const auto [at, is_new] =
            functions.try_emplace(*offset, static_cast<std::uint32_t>(code.functions.size()));
        if (is_new && parse_line(line_at(text, *offset), line)) {
            code.functions.push_back({std::string{line.name}, line.start});
        }
        code.locations.push_back(RuntimeCode::Location{at->second});
    }
    return code;
}

}  // namespace sample::symbolize
