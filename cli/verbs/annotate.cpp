// `sample annotate`: the source lines and instructions of one function on standard output.
#include "cli/views/annotate.h"

#include "analysis/annotation.h"
#include "analysis/load_profile.h"
#include "analysis/symbolize_recording.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "symbolize/names/name_forms.h"

#include <unistd.h>

#include <utility>

namespace sample::cli {
namespace {

/// For what instructions call; more would leave no room for where they come from.
constexpr std::size_t kTargetColumns = 40;

/// In what forms names are shown.
struct Forms {
    symbolize::NameForm own;     ///< Of the function, and of those that its code lies in.
    symbolize::NameForm beside;  ///< Of what was inlined and what is called.
};

Forms forms_of(const AnnotateOptions& options) {
    using symbolize::NameForm;
    return {options.names.value_or(NameForm::full),
            options.names.value_or(options.json ? NameForm::full : NameForm::brief)};
}

/// What was inlined is left to the view of text, which fits it into its column.
void set_forms(analysis::Annotation& annotation, const AnnotateOptions& options) {
    const Forms forms = forms_of(options);
    callgraph::Function& function = annotation.function;
    // The names of a JIT compiler follow no language's rules.
    if ((function.flags & callgraph::kNative) == 0) {
        function.name = symbolize::in_form(function.name, forms.own);
    }
    for (analysis::AnnotatedCode& code : annotation.code) {
        code.function = symbolize::in_form(code.function, forms.own);
        if (!options.json) {
            continue;
        }
        for (analysis::AnnotatedInstruction& instruction : code.instructions) {
            for (analysis::InlinedPlace& place : instruction.inlined) {
                place.function = symbolize::in_form(place.function, forms.beside);
            }
        }
    }
}

/// Whether a word that stands alone is FILE, not FUNCTION.
bool names_recording(const std::string& word) {
    return word == "-" || word.ends_with(".utrace") || analysis::is_recording(word);
}

analysis::AnnotationRequest request_of(const AnnotateOptions& options, std::string_view function,
                                       const Terminal& terminal) {
    analysis::AnnotationRequest request;
    request.function = function;
    request.syntax =
        options.intel ? symbolize::AssemblySyntax::intel : symbolize::AssemblySyntax::att;
    request.want_code = options.json || options.layout != AnnotationLayout::source;
    const std::size_t columns = options.json || terminal.width == 0 ? 0 : kTargetColumns;
    const symbolize::NameForm form = forms_of(options).beside;
    request.shorten = [&terminal, columns, form](const std::string& name) {
        return shorten_name(symbolize::in_form(name, form), columns, terminal);
    };
    return request;
}

}  // namespace

Result<int> run(const AnnotateOptions& options) {
    const bool is_file = options.file.empty() && names_recording(options.function);
    SAMPLE_TRY(file, named_or_newest(is_file ? options.function : options.file));
    SAMPLE_TRY(whole, analysis::load_recording_file(file));
    SAMPLE_TRY(recording, callgraph::select(std::move(whole), options.selection));
    const auto cache = analysis::user_cache(options.names_from);
    const analysis::NamingOptions naming = analysis::naming_from(options.names_from, cache.get());
    const analysis::RecordingSymbols symbols = analysis::symbolize_recording(recording, naming);
    analysis::KeptCode kept = analysis::kept_code_of(recording);
    if (!naming.from_recording) {
        kept.modules.clear();  // Its instructions have the names that the recording carries.
    }
    analysis::KeptOrLocal sources{recording, kept, analysis::places_of(naming)};
    const Terminal terminal = detect_terminal(STDOUT_FILENO, options.color);
    SAMPLE_TRY(annotation,
               annotate(recording, symbols.symbols,
                        request_of(options, is_file ? "" : options.function, terminal), sources));
    if (!has_unit(options.unit, file, annotation.unit)) {
        return kExitUsage;
    }
    set_forms(annotation, options);
    annotation.notes.insert(annotation.notes.end(), symbols.problems.begin(),
                            symbols.problems.end());
    SAMPLE_CHECK(write_to_stdout(
        options.json ? annotate_json(annotation)
                     : annotate_view(annotation, {terminal, options.unit, options.layout,
                                                  options.all, forms_of(options).beside})));
    return kExitOk;
}

}  // namespace sample::cli
