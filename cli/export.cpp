// `sample export`: a file in a format that other programs read.
#include "cli/export_profile.h"
#include "cli/load_profile.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <utility>

namespace sample::cli {
namespace {

int export_to_stdout(const callgraph::Profile& profile, ExportFormat format) {
    const Result<std::string> text = render_export(profile, format);
    if (!text) {
        print_error(text.error().message());
        return kExitFailure;
    }
    return write_to_stdout(*text);
}

}  // namespace

int run_export(const ExportOptions& options) {
    Result<callgraph::Profile> profile = load_profile(options.file, options.choice);
    if (profile) {
        profile = apply_search(std::move(*profile), options.choice.search);
    }
    if (!profile) {
        print_error(profile.error().message());
        return kExitFailure;
    }
    if (options.output == "-") {
        return export_to_stdout(*profile, options.format);
    }
    const Result<void> written =
        write_export(*profile, options.format, options.output, options.force);
    if (!written) {
        print_error(written.error().message());
        return kExitFailure;
    }
    return kExitOk;
}

}  // namespace sample::cli
