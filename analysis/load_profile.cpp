#include "analysis/load_profile.h"

#include "callgraph/rename.h"
#include "callgraph/transforms.h"
#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "symbolize/names/name_endings.h"
#include "symbolize/names/name_forms.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace sample::analysis {
namespace {

enum class FileKind : std::uint8_t { empty, recording, foreign };

FileKind kind_of(std::string_view content) {
    if (content.empty()) {
        return FileKind::empty;
    }
    constexpr std::string_view kMagic = "2CRT";
    const bool is_recording =
        content.substr(0, kMagic.size()) == kMagic.substr(0, content.size()) ||
        content.starts_with("ECRT");
    return is_recording ? FileKind::recording : FileKind::foreign;
}

/// What can be said of a path without reading it; in the words of somebody who wants a recording.
Result<void> check_path(const std::string& path) {
    if (path == "-") {
        return unexpected(ErrorCode::invalid_argument,
                          "standard input is not read: write it to a file, and name that");
    }
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        return unexpected(errno == ENOENT
                              ? Error{ErrorCode::not_found, 0,
                                      fmt::format("{0} does not exist: make a recording with "
                                                  "sample -o {0} -- COMMAND",
                                                  path)}
                              : Error::from_errno("cannot read " + path));
    }
    if (!S_ISREG(info.st_mode)) {
        return unexpected(
            ErrorCode::invalid_argument,
            path + (S_ISDIR(info.st_mode)
                        ? " is a directory: name a recording in it"
                        : " is not a regular file: copy what comes out of it into one"));
    }
    if (::access(path.c_str(), R_OK) != 0) {
        return unexpected(ErrorCode::permission,
                          path +
                              " may not be read: a recording belongs to the user who made it "
                              "(mode 0600); read it as that user");
    }
    return {};
}

Unexpected nothing_recorded(const std::string& path) {
    return unexpected(ErrorCode::corrupt,
                      path + " is empty: nothing was recorded into it; record again");
}

Unexpected not_imported(const std::string& path, Error error) {
    error.context = path + " is no recording of sample, and cannot be imported: " + error.context;
    return unexpected(std::move(error));
}

/// A foreign file's bytes, as they are read under `reading`.
struct Content {
    const std::string& path;
    std::string_view bytes;
    const MappedReading& reading;
};

Result<imports::Imported> import_content(const Content& content,
                                         std::optional<imports::Format> format,
                                         const imports::Options& options) {
    const std::string& path = content.path;
    Result<imports::Imported> imported = imports::import_profile(content.bytes, format, options);
    if (content.reading.is_broken()) {
        return unexpected(MappedReading::broken(path));
    }
    return imported ? std::move(imported) : not_imported(path, imported.error());
}

Result<callgraph::Profile> load_foreign(const Content& content, const ProfileChoice& choice,
                                        const Details& wanted) {
    const std::string& path = content.path;
    if (choice.category) {
        return unexpected(
            ErrorCode::unsupported,
            "--category needs a recording: the categories of " + path + " are what the file says");
    }
    if (!choice.metric.empty()) {
        return unexpected(ErrorCode::unsupported, "--metric needs a recording: the figures of " +
                                                      path + " are of what the file says");
    }
    imports::Options options;
    options.times = wanted.times;
    options.lines = choice.by_line || wanted.lines;
    SAMPLE_TRY(imported, import_content(content, choice.from, options));
    callgraph::Profile& profile = imported.profile;
    if (choice.by_line && !profile.by_line) {
        return unexpected(ErrorCode::unsupported,
                          "--lines needs lines: " + path + ", a profile in the format " +
                              std::string{imports::name_of(imported.format)} + ", has none");
    }
    return choice.fold_inlined ? callgraph::fold_inlined(std::move(profile)) : std::move(profile);
}

Result<MappedFile> open_any(const std::string& path) {
    SAMPLE_CHECK(check_path(path));
    return MappedFile::open(path);
}

std::string_view content_of(const MappedFile& file) {
    const std::span<const std::byte> bytes = file.bytes();
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

Result<MetricId> find_metric(const callgraph::Recording& recording, const std::string& name,
                             const std::string& path) {
    if (name.empty()) {
        return trace::kSessionMetric;
    }
    std::string names;
    for (const trace::Metric& metric : recording.metrics()) {
        if (metric.name == name) {
            return metric.id;
        }
        names += (names.empty() ? "" : ", ") + metric.name;
    }
    return unexpected(ErrorCode::not_found,
                      path + " has no metric '" + name + "': choose one of " + names);
}

Result<callgraph::Profile> load_any(const std::string& path, const ProfileChoice& choice,
                                    const Details& wanted) {
    const MappedReading reading;
    SAMPLE_TRY(file, open_any(path));
    const std::string_view content = content_of(file);
    switch (kind_of(content)) {
        case FileKind::empty:
            return nothing_recorded(path);
        case FileKind::foreign:
            return load_foreign({path, content, reading}, choice, wanted);
        case FileKind::recording:
            break;
    }
    if (choice.from) {
        return unexpected(ErrorCode::invalid_argument,
                          "--from is for foreign files: " + path + " is a recording of sample");
    }
    SAMPLE_TRY(recording,
               callgraph::load_recording(
                   path, wanted.times ? callgraph::Times::kept : callgraph::Times::dropped));
    const auto cache = user_cache(choice.use_cache);
    const NamingOptions naming{!choice.resymbolize, {}, choice.debug_folders, cache.get()};
    callgraph::BuildOptions options;
    SAMPLE_TRY(metric, find_metric(recording, choice.metric, path));
    options.metric = metric;
    options.category = choice.category.value_or(callgraph::CategoryBy::thread);
    options.fold_inlined = choice.fold_inlined;
    options.by_line = choice.by_line || wanted.lines;
    return profile_of_recording(recording, symbolize_recording(recording, naming), options);
}

/// A JIT compiler's names follow no language's rules: "LazyCompile:*sum (a, b) app.js:1".
bool is_named_by_a_runtime(const callgraph::Function& function) {
    return (function.flags & callgraph::kNative) != 0;
}

callgraph::Whole whole_of(const callgraph::Function& function) {
    if (is_named_by_a_runtime(function)) {
        return {};
    }
    return {symbolize::without_part(function.name), symbolize::is_called_part(function.name)};
}

callgraph::Profile name_functions(callgraph::Profile profile, const ProfileChoice& choice) {
    if (choice.fold_parts) {
        profile = callgraph::fold_parts(std::move(profile), whole_of);
    }
    if (choice.names != symbolize::NameForm::full) {
        profile = callgraph::rename(std::move(profile), [&choice](const callgraph::Function& each) {
            return is_named_by_a_runtime(each) ? each.name
                                               : symbolize::in_form(each.name, choice.names);
        });
    }
    return profile;
}

}  // namespace

Result<imports::Imported> import_file(const std::string& path,
                                      std::optional<imports::Format> format,
                                      const imports::Options& options) {
    const MappedReading reading;
    SAMPLE_TRY(file, open_any(path));
    const std::string_view content = content_of(file);
    if (kind_of(content) == FileKind::recording) {
        return unexpected(ErrorCode::invalid_argument,
                          path +
                              " is a recording of sample: every verb reads it as it is, and sample "
                              "export --format json makes a profile of it");
    }
    return import_content({path, content, reading}, format, options);
}

Result<callgraph::Recording> load_recording_file(const std::string& path, callgraph::Times times) {
    const MappedReading reading;
    SAMPLE_TRY(file, open_any(path));
    switch (kind_of(content_of(file))) {
        case FileKind::empty:
            return nothing_recorded(path);
        case FileKind::foreign:
            if (reading.is_broken()) {
                return unexpected(MappedReading::broken(path));
            }
            return unexpected(ErrorCode::unsupported,
                              path +
                                  " is no recording of sample, which alone has addresses: name the "
                                  ".utrace file that `sample record` wrote");
        case FileKind::recording:
            break;
    }
    return callgraph::load_recording(path, times);
}

callgraph::Profile profile_of_recording(const callgraph::Recording& recording,
                                        const RecordingSymbols& symbols,
                                        const callgraph::BuildOptions& options) {
    callgraph::Profile profile = callgraph::build_profile(recording, symbols.symbols, options);
    profile.stats.notes.insert(profile.stats.notes.end(), symbols.problems.begin(),
                               symbols.problems.end());
    return profile;
}

Result<callgraph::Profile> apply_choice(callgraph::Profile profile, const ProfileChoice& choice) {
    profile = name_functions(std::move(profile), choice);
    if (choice.hide_gc) {
        profile = callgraph::hide_gc(std::move(profile));
    }
    if (choice.hide_plugins) {
        profile = callgraph::hide_plugins(std::move(profile));
    }
    if (!choice.focus.empty()) {
        profile = callgraph::focus(std::move(profile), choice.focus);
        if (profile.categories.empty()) {
            return unexpected(ErrorCode::not_found,
                              "no function is called '" + choice.focus +
                                  "': sample report --view functions lists the names");
        }
    }
    if (choice.average_s) {
        if (profile.stats.wall_ns == 0 && profile.end_unix_ms <= profile.start_unix_ms) {
            return unexpected(ErrorCode::unsupported,
                              "--average needs the session's length, which this file does not "
                              "have: leave --average out");
        }
        profile = callgraph::average(std::move(profile), static_cast<double>(*choice.average_s));
    }
    return profile;
}

Result<callgraph::Profile> apply_search(callgraph::Profile profile, const std::string& text) {
    if (text.empty()) {
        return profile;
    }
    profile = callgraph::search(std::move(profile), text);
    if (profile.categories.empty()) {
        return unexpected(
            ErrorCode::not_found,
            "no name contains '" + text + "': sample report --view functions lists the names");
    }
    return profile;
}

Result<callgraph::Profile> load_profile(const std::string& path, const ProfileChoice& choice,
                                        const Details& wanted) {
    SAMPLE_TRY(profile, load_any(path, choice, wanted));
    return apply_choice(std::move(profile), choice);
}

}  // namespace sample::analysis
