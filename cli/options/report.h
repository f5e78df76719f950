// What `sample report` is asked to show, as plain values.
#pragma once

#include "cli/options/option_parser.h"
#include "cli/options/profile_choice.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

enum class View : std::uint8_t { summary, callgraph, functions, threads, stats };

struct ReportOptions {
    View view = View::summary;
    analysis::ProfileChoice choice;
    Unit unit = Unit::weight;
    std::optional<double> min_percent;
    bool json = false;
    ColorMode color = ColorMode::automatic;
    std::string file;
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<Parsed<ReportOptions>> parse_report_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli
