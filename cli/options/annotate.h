// What `sample annotate` is asked to show, as plain values.
#pragma once

#include "cli/options/option_parser.h"
#include "cli/options/profile_choice.h"
#include "cli/views/annotate.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "core/result.h"
#include "symbolize/names/name_forms.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

struct AnnotateOptions {
    std::string function;
    std::string file;
    AnnotationLayout layout = AnnotationLayout::interleaved;
    Unit unit = Unit::weight;
    bool all = false;    ///< What was never sampled, too.
    bool intel = false;  ///< Intel's syntax instead of AT&T's.
    bool json = false;
    /// None: whole names in JSON and in the heading, short ones of what is inlined and called.
    std::optional<symbolize::NameForm> names;
    TypedNaming naming;
    ColorMode color = ColorMode::automatic;
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<Parsed<AnnotateOptions>> parse_annotate_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli
