#include "cli/record/record_exports.h"

#include "analysis/load_profile.h"
#include "cli/export_profile.h"
#include "cli/output.h"
#include "cli/record/recording_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace sample::cli {
namespace {

/// The same for all names of one file, also of one that does not exist yet.
std::string place_of(const std::string& path) {
    constexpr int kMostLinks = 40;  // as many as Linux follows: path_resolution(7)
    std::error_code error;
    std::filesystem::path place = std::filesystem::absolute(path, error);
    for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(place, error); ++links) {
        place = place.parent_path() / std::filesystem::read_symlink(place, error);
    }
    place = std::filesystem::weakly_canonical(place, error);
    return error ? path : place.string();
}

/// Whether `path` may be written as write_export() does it. Devices and pipes are written through.
Result<void> check_file(const std::string& path, bool force, bool& is_file) {
    struct stat info {};
    const bool exists = ::stat(path.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        return unexpected(ErrorCode::invalid_argument, path + " is a directory: name a file in it");
    }
    if (exists && S_ISBLK(info.st_mode)) {
        return unexpected(ErrorCode::invalid_argument, path + " is a disk: name a file");
    }
    is_file = !exists || S_ISREG(info.st_mode);
    if (is_file && exists && !force) {
        return already_exists(path);
    }
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::access(is_file ? folder.c_str() : path.c_str(), W_OK) != 0) {
        return unexpected(Error::from_errno("cannot write " + path));
    }
    return {};
}

}  // namespace

Result<void> name_exports(RecordOptions& options, const std::string& executable, pid_t pid,
                          const std::string& recording) {
    std::set<std::string> places{place_of(recording)};
    for (ExportRequest& request : options.exports) {
        request.path = expand_pattern(request.path, executable, pid);
        if (request.path == "-") {
            return unexpected(ErrorCode::invalid_argument,
                              "standard output is the command's: name a file for --export, or send "
                              "the recording there afterwards, with sample export");
        }
        bool is_file = true;
        if (auto checked = check_file(request.path, options.force, is_file); !checked) {
            return checked;
        }
        if (is_file && !places.insert(place_of(request.path)).second) {
            return unexpected(ErrorCode::invalid_argument,
                              request.path +
                                  " is named twice: give the recording and each export a "
                                  "file of its own");
        }
    }
    return {};
}

callgraph::Times times_wanted(const std::vector<ExportRequest>& exports) {
    return std::any_of(exports.begin(), exports.end(),
                       [](const ExportRequest& each) { return each.format->wants.times; })
               ? callgraph::Times::kept
               : callgraph::Times::dropped;
}

std::vector<Error> write_exports(const RecordOptions& options,
                                 const analysis::NamedRecording& named) {
    std::vector<Error> errors;
    for (const ExportRequest& request : options.exports) {
        callgraph::BuildOptions build;
        build.by_line = request.format->wants.lines;
        const callgraph::Profile profile =
            analysis::profile_of_recording(named.recording, named.symbols, build);
        if (const auto written =
                write_export(profile, *request.format, request.path, options.force);
            !written) {
            errors.push_back(written.error());
        }
    }
    return errors;
}

}  // namespace sample::cli
