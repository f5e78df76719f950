// The views of `sample annotate`: an Annotation in, text or JSON out.
//
// Text is for people: what weighs something with some context, durations as in the other views, or
// in per cent of the function's total. JSON has everything.
#pragma once

#include "analysis/annotation.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "symbolize/names/name_forms.h"

#include <cstdint>
#include <string>

namespace sample::cli {

enum class AnnotationLayout : std::uint8_t {
    interleaved,  ///< Source lines, each with its instructions below it.
    source,
    assembly,  ///< Instructions by address.
};

struct AnnotateViewOptions {
    Terminal terminal;
    Unit unit = Unit::weight;
    AnnotationLayout layout = AnnotationLayout::interleaved;
    bool all = false;  ///< Lines and instructions that were never sampled, too.
    /// Of what was inlined. JSON has all names as the annotation has them.
    symbolize::NameForm inlined_names = symbolize::NameForm::brief;
};

[[nodiscard]] std::string annotate_view(const analysis::Annotation& annotation,
                                        const AnnotateViewOptions& options);
[[nodiscard]] std::string annotate_json(const analysis::Annotation& annotation);

}  // namespace sample::cli
