// `sample report`: one view of one file on standard output.
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "cli/views/views.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace sample::cli {
namespace {

std::string render(const callgraph::Profile& profile, const ReportOptions& asked,
                   const ViewOptions& options) {
    switch (asked.view) {
        case View::callgraph:
            return asked.json ? callgraph_json(profile, options) : callgraph_view(profile, options);
        case View::functions:
            return asked.json ? functions_json(profile, options) : functions_view(profile, options);
        case View::threads:
            return asked.json ? threads_json(profile) : threads_view(profile, options);
        case View::stats:
            return asked.json ? stats_json(profile) : stats_view(profile, options);
        case View::summary:
            break;
    }
    return asked.json ? summary_json(profile)
                      : summary_view(profile, {options.terminal, SummaryOptions{}.functions, {}});
}

}  // namespace

bool has_unit(Unit unit, const std::string& file, const std::string& counted) {
    if (unit != Unit::milliseconds || counted.empty()) {
        return true;
    }
    print_error(fmt::format(
        "--unit ms: {} counts {}, which are no time; leave --unit out for the count, or use "
        "--unit %",
        file, printable(counted)));
    return false;
}

Result<int> run(const ReportOptions& options) {
    SAMPLE_TRY(profile, analysis::load_profile(options.file, options.choice));
    // The list of functions is searched as a list: the functions on the paths to a match are none.
    if (options.view != View::functions) {
        SAMPLE_TRY(found, analysis::apply_search(std::move(profile), options.choice.search));
        profile = std::move(found);
    }
    if (!has_unit(options.unit, options.file, profile.unit)) {
        return kExitUsage;
    }
    const ViewOptions view{detect_terminal(STDOUT_FILENO, options.color), options.unit,
                           options.min_percent, options.choice.search};
    SAMPLE_CHECK(write_to_stdout(render(profile, options, view)));
    return kExitOk;
}

}  // namespace sample::cli
