// `sample export`: a file in a format that other programs read.
#include "analysis/load_profile.h"
#include "cli/export_profile.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"

#include <unistd.h>

#include <string>
#include <utility>

namespace sample::cli {
namespace {

Result<callgraph::Profile> load(const ExportOptions& options) {
    Result<callgraph::Profile> profile =
        analysis::load_profile(options.file, options.choice, options.format->wants);
    return profile ? analysis::apply_search(std::move(*profile), options.choice.search)
                   : std::move(profile);
}

}  // namespace

int run_export(const ExportOptions& options) {
    if (options.output == "-" && options.format->is_binary && ::isatty(STDOUT_FILENO) == 1) {
        print_error(std::string{options.format->name} +
                    " is no text for a terminal: add -o FILE, or send it to another program");
        return kExitUsage;
    }
    const Result<callgraph::Profile> profile = load(options);
    if (!profile) {
        print_error(profile.error().message());
        return kExitFailure;
    }
    const Result<void> written =
        options.output == "-"
            ? write_export_to_stdout(*profile, *options.format)
            : write_export(*profile, *options.format, options.output, options.force);
    if (!written) {
        print_error(written.error().message());
        return kExitFailure;
    }
    return kExitOk;
}

}  // namespace sample::cli
