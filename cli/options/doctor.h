// What `sample doctor` is asked for, as plain values.
#pragma once

#include "cli/options/option_parser.h"
#include "cli/views/terminal.h"
#include "core/result.h"

#include <string>
#include <vector>

namespace sample::cli {

struct DoctorOptions {
    bool json = false;
    ColorMode color = ColorMode::automatic;
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<Parsed<DoctorOptions>> parse_doctor_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli
