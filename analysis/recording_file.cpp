#include "analysis/recording_file.h"

#include "core/text.h"
#include "trace/recording_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace sample::analysis {
namespace {

constexpr std::string_view kMagic = "2CRT";

/// What can be said of a path without reading it; in the words of somebody who wants a recording.
Result<void> check_path(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        return unexpected(errno == ENOENT
                              ? Error{ErrorCode::not_found, 0,
                                      fmt::format("{0} does not exist: make a recording with "
                                                  "sample -o {1} -- COMMAND",
                                                  path, shell_word(path))}
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

bool is_standard_input(const std::string& path) {
    return path == "-";
}

Result<MappedFile> read_standard_input() {
    if (::isatty(STDIN_FILENO) == 1) {
        return unexpected(ErrorCode::invalid_argument,
                          "standard input is a terminal: send a recording through a pipe, or name "
                          "its file");
    }
    return MappedFile::read_to_end(STDIN_FILENO, "standard input");
}

}  // namespace

FileKind kind_of(std::string_view content) {
    if (content.empty()) {
        return FileKind::empty;
    }
    const bool is_recording = content.starts_with(kMagic) || content.starts_with("ECRT");
    return is_recording ? FileKind::recording : FileKind::foreign;
}

std::string_view content_of(const MappedFile& file) {
    const std::span<const std::byte> bytes = file.bytes();
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

std::string name_of(const std::string& path) {
    return is_standard_input(path) ? "standard input" : path;
}

Result<MappedFile> open_any(const std::string& path) {
    if (!is_standard_input(path)) {
        SAMPLE_CHECK(check_path(path));
    }
    SAMPLE_TRY(file, is_standard_input(path) ? read_standard_input() : MappedFile::open(path));
    const std::string_view content = content_of(file);
    // It would pass for a recording that lacks its end, of which every view shows nothing.
    if (!content.empty() && content.size() < kMagic.size() && kMagic.starts_with(content)) {
        return unexpected(
            ErrorCode::corrupt,
            fmt::format("{} holds '{}' alone: if it was a recording of sample, it was cut off "
                        "before any sample, and can only be made anew",
                        name_of(path), content));
    }
    return std::move(file);
}

Unexpected nothing_recorded(const std::string& path) {
    return unexpected(ErrorCode::corrupt,
                      path + " is empty: nothing was recorded into it; record again");
}

Result<MappedFile> open_recording(const std::string& path, const MappedReading& reading,
                                  std::string_view things) {
    const std::string name = name_of(path);
    SAMPLE_TRY(file, open_any(path));
    switch (kind_of(content_of(file))) {
        case FileKind::empty:
            return nothing_recorded(name);
        case FileKind::foreign:
            if (reading.is_broken()) {
                return unexpected(MappedReading::broken(name));
            }
            return unexpected(
                ErrorCode::unsupported,
                fmt::format("{} is no recording of sample, which alone has {}: name the .utrace "
                            "file that `sample record` wrote",
                            name, things));
        case FileKind::recording:
            break;
    }
    return std::move(file);
}

ReadAgain read_again(const MappedFile& file) {
    return [&file](trace::RecordSink& sink) -> Result<void> {
        SAMPLE_TRY(outcome, trace::read_recording(file.bytes(), sink, {},
                                                  [&file](std::span<const std::byte> passed) {
                                                      file.give_back(passed);
                                                  }));
        static_cast<void>(outcome);
        return {};
    };
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

}  // namespace sample::analysis
