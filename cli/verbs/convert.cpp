// `sample export`: a file in a format that other programs read; `sample import`: another profiler's
// file as a profile in version-2 JSON.
#include "analysis/export_format.h"
#include "analysis/load_profile.h"
#include "analysis/sampled_tracks.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/refuse.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "core/fd.h"
#include "core/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <string_view>
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
                       measure_of(profile).text(root_total(profile)));
}

/// Of a file without samples.
std::string what_shows_more(const analysis::ExportFormat& chosen) {
    if (chosen.wants.markers) {
        return {};
    }
    std::string names;
    for (const analysis::ExportFormat& format : analysis::export_formats()) {
        if (format.wants.markers) {
            names += (names.empty() ? "" : ", ") + std::string{format.name};
        }
    }
    return "; what its program says is shown by the formats: " + names;
}

/// The recording `file` once more.
Result<int> export_sampled_tracks(const std::string& file, const ExportOptions& options) {
    if (file == "-") {
        return refuse("the format {} needs a file, which is read more than once: name it",
                      kRecordingFormat);
    }
    SAMPLE_TRY(loaded, analysis::load_profile(file, options.choice, {.times = true}));
    SAMPLE_TRY(profile, analysis::apply_search(std::move(loaded), options.choice.search));
    const auto write = [&](int fd) {
        return analysis::write_sampled_tracks(file, profile, Fd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)});
    };
    SAMPLE_CHECK(options.output == "-"
                     ? write_to_stdout(write)
                     : write_file_atomically(options.output, write, options.force));
    return kExitOk;
}

}  // namespace

Result<int> run(const ExportOptions& options) {
    const bool is_binary = options.format == nullptr || options.format->is_binary;
    if (options.output == "-" && is_binary && ::isatty(STDOUT_FILENO) == 1) {
        print_error(
            std::string{options.format == nullptr ? kRecordingFormat : options.format->name} +
            " is no text for a terminal: add -o FILE, or send it to another program");
        return kExitUsage;
    }
    SAMPLE_TRY(file, named_or_newest(options.file));
    if (options.format == nullptr) {
        return export_sampled_tracks(file, options);
    }
    SAMPLE_TRY(loaded, analysis::load_profile(file, options.choice, options.format->wants));
    SAMPLE_TRY(profile, analysis::apply_search(std::move(loaded), options.choice.search));
    SAMPLE_TRY(warning, write_export(profile, *options.format, options.output, options.force));
    const std::string_view why = without_samples_text(profile);
    if (!why.empty() && profile.stats.samples == 0) {
        print_error(
            fmt::format("{} has no samples ({}){}", file, why, what_shows_more(*options.format)));
    }
    if (!warning.empty()) {
        print_error(warning);
    }
    return kExitOk;
}

Result<int> run(const ImportOptions& options) {
    SAMPLE_TRY(imported, analysis::import_file(options.file, options.from, {}));
    SAMPLE_TRY(json, analysis::find_export_format("json"));
    SAMPLE_TRY(warning, write_export(imported.profile, *json, options.output, options.force));
    std::vector<std::string> notes;
    if (!warning.empty()) {
        notes.push_back("note: " + warning);
    }
    for (const std::string& note : imported.profile.stats.notes) {
        notes.push_back("note: " + note);
    }
    print_error(what_was_read(imported), notes);
    return kExitOk;
}

}  // namespace sample::cli
