// What `sample diff` is asked to compare, as plain values.
#pragma once

#include "cli/options/option_parser.h"
#include "cli/options/profile_choice.h"
#include "cli/views/terminal.h"
#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

enum class DiffView : std::uint8_t { functions, paths };

struct DiffVerbOptions {
    DiffView view = DiffView::functions;
    analysis::ProfileChoice choice;
    bool normalize = false;
    double confidence_percent = 95;
    std::optional<double> fail_above_percent;  ///< Of A's whole; none: no gate.
    std::size_t limit = 20;                    ///< Lines of a list; 0: all.
    bool json = false;
    ColorMode color = ColorMode::automatic;
    std::string before;
    std::string after;
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<Parsed<DiffVerbOptions>> parse_diff_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli
