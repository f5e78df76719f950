// `sample report`: one view of one file on standard output.
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "cli/views/views.h"

#include <unistd.h>

#include <utility>

namespace sample::cli {
namespace {

std::string render_json(const callgraph::Profile& profile, View view, const ViewOptions& options) {
    switch (view) {
        case View::callgraph:
            return callgraph_json(profile, options);
        case View::functions:
            return functions_json(profile, options);
        case View::threads:
            return threads_json(profile);
        case View::stats:
            return stats_json(profile);
        case View::summary:
            break;
    }
    return summary_json(profile);
}

std::string render_text(const callgraph::Profile& profile, View view, const ViewOptions& options) {
    switch (view) {
        case View::callgraph:
            return callgraph_view(profile, options);
        case View::functions:
            return functions_view(profile, options);
        case View::threads:
            return threads_view(profile, options);
        case View::stats:
            return stats_view(profile, options);
        case View::summary:
            break;
    }
    return summary_view(profile, {options.terminal, SummaryOptions{}.functions, {}});
}

}  // namespace

int run_report(const ReportOptions& options) {
    Result<callgraph::Profile> profile = analysis::load_profile(options.file, options.choice);
    // The list of functions is searched as a list: the functions on the paths to a match are none.
    if (profile && options.view != View::functions) {
        profile = analysis::apply_search(std::move(*profile), options.choice.search);
    }
    if (!profile) {
        print_error(profile.error().message());
        return kExitFailure;
    }
    if (options.unit == Unit::milliseconds && !profile->is_time()) {
        print_error("--unit ms: " + options.file + " counts " + printable(profile->unit) +
                    ", which are no time; leave --unit out for the count, or use --unit %");
        return kExitUsage;
    }
    const ViewOptions view{detect_terminal(STDOUT_FILENO, options.color), options.unit,
                           options.min_percent, options.choice.search};
    return write_to_stdout(options.json ? render_json(*profile, options.view, view)
                                        : render_text(*profile, options.view, view));
}

}  // namespace sample::cli
