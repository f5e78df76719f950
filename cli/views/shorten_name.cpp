// Making long C++ and Rust names fit a column. The order of what goes, and why: template arguments
// repeat what the rest of the name implies; argument lists tell overloads apart, which is rarely
// asked; the end of a name (the method) says more than its middle.
#include "cli/views/text.h"
#include "symbolize/names/name_syntax.h"

#include <string>

namespace sample::cli {
namespace {

/// The bytes of the first `count` code points.
std::size_t bytes_of(std::string_view text, std::size_t count) noexcept {
    std::size_t at = 0;
    while (at < text.size() && count > 0) {
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) {
            ++at;
        }
        --count;
    }
    return at;
}

std::string cut_middle(std::string_view name, std::size_t width, std::string_view ellipsis) {
    const std::size_t length = display_width(name);
    const std::size_t mark = display_width(ellipsis);
    if (width <= mark) {
        return std::string{ellipsis.substr(0, bytes_of(ellipsis, width))};
    }
    const std::size_t kept = width - mark;
    const std::size_t head = kept * 2 / 5;
    const std::size_t tail = kept - head;
    std::string result{name.substr(0, bytes_of(name, head))};
    result += ellipsis;
    result += name.substr(bytes_of(name, length - tail));
    return result;
}

}  // namespace

std::string shorten_name(std::string_view name, std::size_t width, const Terminal& terminal) {
    if (width == 0 || display_width(name) <= width) {
        return std::string{name};
    }
    const std::string_view ellipsis = terminal.utf8 ? "\u2026" : "...";
    using symbolize::BracketKind;
    std::string shorter = symbolize::collapse(name, BracketKind::template_arguments, ellipsis);
    if (display_width(shorter) > width) {
        shorter = symbolize::collapse(shorter, BracketKind::arguments, ellipsis);
    }
    return display_width(shorter) <= width ? shorter : cut_middle(shorter, width, ellipsis);
}

}  // namespace sample::cli
