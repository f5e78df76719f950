#include "import/source_name_line.h"

#include "import/text_lines.h"

#include <limits>

namespace sample::imports {

std::optional<FunctionKey> source_name_line(std::string_view text) {
    const std::size_t line_comma = text.rfind(',');
    if (line_comma == std::string_view::npos || line_comma == 0) {
        return std::nullopt;
    }
    const std::size_t name_comma = text.rfind(',', line_comma - 1);
    const std::string_view line = text.substr(line_comma + 1);
    const auto number = line.empty() ? std::optional<std::uint64_t>{0} : to_number(line);
    if (name_comma == std::string_view::npos || !number ||
        *number > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    FunctionKey key;
    key.source = text.substr(0, name_comma);
    key.name = text.substr(name_comma + 1, line_comma - name_comma - 1);
    key.line = static_cast<std::uint32_t>(*number);
    return key;
}

}  // namespace sample::imports
