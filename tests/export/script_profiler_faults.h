// What is wrong with a script-profiler JSON of version 2, by the words of the document that
// describes the format; and by what its readers take for granted.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sample::exports {

/// One line a fault, with its place; empty: a document that every reader should understand. Fields
/// that the format does not name are allowed. Of faults of one kind only some are listed.
[[nodiscard]] std::vector<std::string> script_profiler_faults(const nlohmann::json& document);

}  // namespace sample::exports
