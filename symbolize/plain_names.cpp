#include "symbolize/plain_names.h"

#include "core/symbols.h"

#include <algorithm>

namespace sample::symbolize {
namespace {

bool is_offset_name(std::string_view name) {
    const std::size_t at = name.rfind("+0x");
    return at != std::string_view::npos && at + 3 < name.size() &&
           name.find_first_not_of("0123456789abcdef", at + 3) == std::string_view::npos;
}

/// "-[Class method:]", "+[Class method]", and "__41-[Class method]_block_invoke".
bool is_objective_c(std::string_view name) {
    if (name.starts_with("__")) {
        name.remove_prefix(std::min(name.find_first_not_of("0123456789", 2), name.size()));
    }
    return name.starts_with("-[") || name.starts_with("+[");
}

}  // namespace

bool is_plain_name(std::string_view name) {
    return name.starts_with('[') || is_offset_name(name) || is_objective_c(name);
}

std::size_t ending_of(std::string_view name) {
    constexpr std::string_view kClone = " [clone ";
    constexpr std::string_view kPlt = "@plt";
    std::size_t end = name.size();
    if (name.ends_with(kGuessMark)) {
        end -= kGuessMark.size();
    } else if (name.ends_with(kPlt)) {
        end -= kPlt.size();
    }
    while (end > 0 && name[end - 1] == ']') {
        const std::size_t begin = name.substr(0, end).rfind(kClone);
        if (begin == std::string_view::npos || name.find(']', begin) != end - 1) {
            break;
        }
        end = begin;
    }
    return end;
}

}  // namespace sample::symbolize
