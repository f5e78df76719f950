// `sample annotate`: the source lines and instructions of one function on standard output.
#include "cli/annotation.h"
#include "cli/annotation_sources.h"
#include "cli/load_profile.h"
#include "cli/output.h"
#include "cli/symbolize_recording.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "cli/view_annotate.h"
#include "symbolize/name_forms.h"

#include <unistd.h>

#include <utility>

namespace sample::cli {
namespace {

/// For what instructions call; more would leave no room for where they come from.
constexpr std::size_t kTargetColumns = 40;

}  // namespace

int run_annotate(const AnnotateOptions& options) {
    const Result<callgraph::Recording> recording = load_recording_file(options.file);
    if (!recording) {
        print_error(recording.error().message());
        return kExitFailure;
    }
    const RecordingSymbols symbols = symbolize_recording(*recording);
    const KeptCode kept = kept_code_of(*recording);
    KeptOrLocal sources{*recording, kept};
    const Terminal terminal = detect_terminal(STDOUT_FILENO, options.color);
    AnnotationRequest request;
    request.function = options.function;
    request.syntax =
        options.intel ? symbolize::AssemblySyntax::intel : symbolize::AssemblySyntax::att;
    request.want_code = options.json || options.layout != AnnotationLayout::source;
    if (!options.json) {
        const std::size_t columns = terminal.width == 0 ? 0 : kTargetColumns;
        request.shorten = [&terminal, columns](const std::string& name) {
            return shorten_name(symbolize::in_form(name, symbolize::NameForm::brief), columns,
                                terminal);
        };
    }
    Result<Annotation> annotation = annotate(*recording, symbols.symbols, request, sources);
    if (!annotation) {
        print_error(annotation.error().message());
        return kExitFailure;
    }
    if (options.unit == Unit::milliseconds && !annotation->unit.empty()) {
        print_error("--unit ms: " + options.file + " counts " + printable(annotation->unit) +
                    ", which are no time; leave --unit out for the count, or use --unit %");
        return kExitUsage;
    }
    for (const std::string& problem : symbols.problems) {
        annotation->notes.push_back(problem);
    }
    return write_to_stdout(
        options.json
            ? annotate_json(*annotation)
            : annotate_view(*annotation, {terminal, options.unit, options.layout, options.all}));
}

}  // namespace sample::cli
