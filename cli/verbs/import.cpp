// `sample import`: another profiler's file as a profile in version-2 JSON.
#include "analysis/export_format.h"
#include "analysis/load_profile.h"
#include "cli/export_profile.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "cli/views/view_parts.h"

#include <string>

namespace sample::cli {
namespace {

/// "perf-script: 2 threads, 12 functions, 1,000 samples, 1.001 s"
std::string what_was_read(const imports::Imported& imported) {
    const callgraph::Profile& profile = imported.profile;
    const callgraph::Stats& stats = profile.stats;
    std::string text{imports::name_of(imported.format)};
    text += ": ";
    text += stats.threads != 0 ? counted(stats.threads, "thread") : std::string{"no threads named"};
    text += ", " + counted(profile.functions.size(), "function") + ", ";
    text += stats.samples != 0 ? counted(stats.samples, "sample") : std::string{"samples unknown"};
    text += ", " + weight_text(profile, root_total_ns(profile));
    return text;
}

Result<void> write_json(const callgraph::Profile& profile, const ImportOptions& options) {
    const Result<const analysis::ExportFormat*> json = analysis::find_export_format("json");
    if (!json) {
        return Unexpected{json.error()};
    }
    return options.output == "-" ? write_export_to_stdout(profile, **json)
                                 : write_export(profile, **json, options.output, options.force);
}

}  // namespace

int run_import(const ImportOptions& options) {
    const Result<imports::Imported> imported =
        analysis::import_file(options.file, options.from, {});
    if (!imported) {
        print_error(imported.error().message());
        return kExitFailure;
    }
    const Result<void> written = write_json(imported->profile, options);
    if (!written) {
        print_error(written.error().message());
        return kExitFailure;
    }
    std::vector<std::string> notes;
    for (const std::string& note : imported->profile.stats.notes) {
        notes.push_back("note: " + note);
    }
    print_error(what_was_read(*imported), notes);
    return kExitOk;
}

}  // namespace sample::cli
