// `sample export`: a file in a format that other programs read; `sample import`: another profiler's
// file as a profile in version-2 JSON.
#include "analysis/export_format.h"
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "core/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace sample::cli {
namespace {

/// "perf-script: 2 threads, 12 functions, 1,000 samples, 1.001 s"
std::string what_was_read(const imports::Imported& imported) {
    const callgraph::Profile& profile = imported.profile;
    const callgraph::Stats& stats = profile.stats;
    return fmt::format("{}: {}, {}, {}, {}", imports::name_of(imported.format),
                       stats.threads != 0 ? counted(stats.threads, "thread") : "no threads named",
                       counted(profile.functions.size(), "function"),
                       stats.samples != 0 ? counted(stats.samples, "sample") : "samples unknown",
                       weight_text(profile, root_total_ns(profile)));
}

}  // namespace

Result<int> run(const ExportOptions& options) {
    if (options.output == "-" && options.format->is_binary && ::isatty(STDOUT_FILENO) == 1) {
        print_error(std::string{options.format->name} +
                    " is no text for a terminal: add -o FILE, or send it to another program");
        return kExitUsage;
    }
    SAMPLE_TRY(loaded, analysis::load_profile(options.file, options.choice, options.format->wants));
    SAMPLE_TRY(profile, analysis::apply_search(std::move(loaded), options.choice.search));
    SAMPLE_CHECK(write_export(profile, *options.format, options.output, options.force));
    return kExitOk;
}

Result<int> run(const ImportOptions& options) {
    SAMPLE_TRY(imported, analysis::import_file(options.file, options.from, {}));
    SAMPLE_TRY(json, analysis::find_export_format("json"));
    SAMPLE_CHECK(write_export(imported.profile, *json, options.output, options.force));
    std::vector<std::string> notes;
    for (const std::string& note : imported.profile.stats.notes) {
        notes.push_back("note: " + note);
    }
    print_error(what_was_read(imported), notes);
    return kExitOk;
}

}  // namespace sample::cli
