#include "import/pprof_check.h"

#include <limits>
#include <string>

namespace sample::imports {

namespace {

/// Deeper inlining is no compiler's, and a location is named by one byte.
constexpr std::size_t kMaxLines = 256;

Unexpected wrong(const std::string& what) {
    return unexpected(ErrorCode::corrupt, what);
}

std::string numbered(std::string_view what, std::size_t index) {
    return std::string{what}.append(" ").append(std::to_string(index + 1));
}

/// Looks ids and strings up.
class Checker {
public:
    explicit Checker(PprofMessage& message) : message_{message} {}

    Result<void> check();

private:
    using Indices = std::unordered_map<std::uint64_t, std::uint32_t>;

    [[nodiscard]] bool is_string(std::uint64_t index) const {
        return index < message_.strings.size();
    }
    template <class Table>
    Result<void> index_ids(const Table& table, std::string_view what, Indices& indices);
    Result<void> check_strings();
    Result<void> check_location(PprofLocation& location, const std::string& place);

    PprofMessage& message_;
    Indices mappings_;
    Indices functions_;
};

template <class Table>
Result<void> Checker::index_ids(const Table& table, std::string_view what, Indices& indices) {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (table[i].id == 0) {
            return wrong(numbered(what, i) + ": has the id 0");
        }
        if (!indices.emplace(table[i].id, static_cast<std::uint32_t>(i)).second) {
            return wrong(numbered(what, i) + ": has the id " + std::to_string(table[i].id) +
                         " of another one");
        }
    }
    return {};
}

Result<void> Checker::check_strings() {
    if (message_.strings.empty() || !message_.strings.front().empty()) {
        return wrong("the string table must begin with an empty string");
    }
    if (message_.types.empty()) {
        return wrong("there is no sample type");
    }
    for (std::size_t i = 0; i < message_.types.size(); ++i) {
        if (!is_string(message_.types[i].type) || !is_string(message_.types[i].unit)) {
            return wrong(numbered("sample type", i) + ": names a string that is not there");
        }
    }
    for (std::size_t i = 0; i < message_.mappings.size(); ++i) {
        if (!is_string(message_.mappings[i].file) || !is_string(message_.mappings[i].build_id)) {
            return wrong(numbered("mapping", i) + ": names a string that is not there");
        }
    }
    for (std::size_t i = 0; i < message_.functions.size(); ++i) {
        const PprofFunction& function = message_.functions[i];
        if (!is_string(function.name) || !is_string(function.system_name) ||
            !is_string(function.file)) {
            return wrong(numbered("function", i) + ": names a string that is not there");
        }
        if (function.start_line < 0 ||
            function.start_line > std::numeric_limits<std::uint32_t>::max()) {
            return wrong(numbered("function", i) +
                         ": its line is negative or has more than 32 bits");
        }
    }
    if (!is_string(message_.default_type)) {
        return wrong("the default sample type names a string that is not there");
    }
    return {};
}

Result<void> Checker::check_location(PprofLocation& location, const std::string& place) {
    if (location.mapping != 0) {
        const auto found = mappings_.find(location.mapping);
        if (found == mappings_.end()) {
            return wrong(place + ": there is no mapping " + std::to_string(location.mapping));
        }
        location.mapping = found->second + 1;
    }
    if (location.lines.size() > kMaxLines) {
        return wrong(place + ": has more than " + std::to_string(kMaxLines) + " lines");
    }
    for (PprofLine& line : location.lines) {
        if (line.line < 0 || line.line > std::numeric_limits<std::uint32_t>::max()) {
            return wrong(place + ": a line is negative or has more than 32 bits");
        }
        if (line.function == 0) {
            continue;
        }
        const auto found = functions_.find(line.function);
        if (found == functions_.end()) {
            return wrong(place + ": there is no function " + std::to_string(line.function));
        }
        line.function = found->second + 1;
    }
    return {};
}

Result<void> Checker::check() {
    if (auto checked = check_strings(); !checked) {
        return checked;
    }
    if (auto indexed = index_ids(message_.mappings, "mapping", mappings_); !indexed) {
        return indexed;
    }
    if (auto indexed = index_ids(message_.functions, "function", functions_); !indexed) {
        return indexed;
    }
    if (auto indexed = index_ids(message_.locations, "location", message_.location_of_id);
        !indexed) {
        return indexed;
    }
    for (std::size_t i = 0; i < message_.locations.size(); ++i) {
        if (auto checked = check_location(message_.locations[i], numbered("location", i));
            !checked) {
            return checked;
        }
    }
    return {};
}

}  // namespace

Result<void> check_pprof_message(PprofMessage& message) {
    return Checker{message}.check();
}

}  // namespace sample::imports
