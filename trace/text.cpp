#include "trace/text.h"

#include "trace/wire.h"

#include <utf8.h>

#include <cstdint>
#include <iterator>

namespace sample::trace {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

constexpr bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace

std::string bounded_text(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return std::string{text};
    }
    std::size_t end = limit - kEllipsis.size();
    for (std::size_t back = 0; back < 3 && back < end && is_continuation(text[end - back]);
         ++back) {
        if (!is_continuation(text[end - back - 1])) {
            end -= back + 1;
            break;
        }
    }
    return std::string{text.substr(0, end)}.append(kEllipsis);
}

std::string utf8_from_utf16(std::span<const std::byte> text) {
    constexpr char16_t kReplacement = 0xfffd;
    std::u16string units;
    for (; text.size() >= 2; text = text.subspan(2)) {
        units.push_back(wire::load<std::uint16_t>(text.data()));
    }
    for (std::size_t i = 0; i < units.size(); ++i) {
        const bool leads = (units[i] & 0xfc00) == 0xd800;
        if (leads && i + 1 < units.size() && (units[i + 1] & 0xfc00) == 0xdc00) {
            ++i;
        } else if ((units[i] & 0xf800) == 0xd800) {
            units[i] = kReplacement;
        }
    }
    std::string out;
    utf8::unchecked::utf16to8(units.begin(), units.end(), std::back_inserter(out));
    return out;
}

}  // namespace sample::trace
