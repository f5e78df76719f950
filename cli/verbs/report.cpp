// `sample report`: one view of one file on standard output.
#include "analysis/advice.h"
#include "analysis/load_profile.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/refuse.h"
#include "cli/verbs/verbs.h"
#include "cli/views/program_views.h"
#include "cli/views/text.h"
#include "cli/views/views.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace sample::cli {
namespace {

/// By View.
constexpr decltype(&summary_view) kViews[] = {summary_view,   callgraph_view, callers_view,
                                              functions_view, threads_view,   stats_view};
/// By View, from View::zones on.
constexpr decltype(&zones_view) kProgramViews[] = {zones_view, frames_view, counters_view,
                                                   log_view,   memory_view, events_view};

analysis::ProgramPart part_of(View view) {
    return view == View::zones    ? analysis::ProgramPart::zones
           : view == View::events ? analysis::ProgramPart::own_events
           : view == View::memory ? analysis::ProgramPart::memory
                                  : analysis::ProgramPart::none;
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

/// Of the views of what programs say.
Result<int> report_program_events(const std::string& file, const ReportOptions& options,
                                  const Terminal& terminal) {
    if (options.min_percent || options.unit != Unit::weight || options.choice.names) {
        return refuse(
            ErrorCode::unsupported,
            "--unit, --min and --names are of views of samples: leave them out for zones, "
            "frames, counters, events, memory and the log");
    }
    const auto which =
        static_cast<std::size_t>(options.view) - static_cast<std::size_t>(View::zones);
    ViewOptions shown{terminal, options.unit};
    shown.search = options.choice.search;
    shown.json = options.json;
    SAMPLE_TRY(said, analysis::load_program_events(file, options.choice, part_of(options.view)));
    SAMPLE_CHECK(page(kProgramViews[which](said, shown), !options.no_pager));
    return kExitOk;
}

analysis::ProfileChoice choice_of(const ReportOptions& options, const Terminal& terminal) {
    analysis::ProfileChoice choice = options.choice;
    if (!choice.names && !options.json && terminal.width != 0) {
        choice.names = symbolize::NameForm::brief;
    }
    // A function's callers are not what it calls: the view itself looks for it.
    if (options.view == View::callers) {
        choice.focus.clear();
    }
    return choice;
}

Result<int> run(const ReportOptions& options) {
    const Terminal terminal = detect_terminal(STDOUT_FILENO, options.color);
    SAMPLE_TRY(file, named_or_newest(options.file));
    if (options.view >= View::zones) {
        return report_program_events(file, options, terminal);
    }
    analysis::Details wanted;
    wanted.memory = options.choice.focus == callgraph::kMemoryName;
    SAMPLE_TRY(profile, analysis::load_profile(file, choice_of(options, terminal), wanted));
    // The list of functions is searched as a list: the functions on the paths to a match are none.
    if (options.view != View::functions) {
        SAMPLE_TRY(found, analysis::apply_search(std::move(profile), options.choice.search));
        profile = std::move(found);
    }
    if (options.view == View::callers) {
        SAMPLE_CHECK(analysis::check_focus(profile, options.choice.focus));
    }
    if (!has_unit(options.unit, file, profile.metric.unit)) {
        return kExitUsage;
    }
    const auto view = kViews[static_cast<std::size_t>(options.view)];
    ViewOptions shown{terminal, options.unit, options.min_percent, options.choice.search,
                      options.json};
    shown.focus = options.choice.focus;
    if (options.view == View::summary && !options.json) {
        shown.advice = analysis::advise(profile);
    }
    SAMPLE_CHECK(page(view(profile, shown), !options.no_pager));
    return kExitOk;
}

}  // namespace sample::cli
