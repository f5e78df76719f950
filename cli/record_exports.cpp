#include "cli/record_exports.h"

#include "cli/export_profile.h"
#include "cli/load_profile.h"
#include "cli/recording_file.h"

#include <unistd.h>

#include <algorithm>
#include <string>

namespace sample::cli {
namespace {

std::string path_of(const ExportRequest& request, const RecordOptions& options, pid_t pid) {
    return expand_pattern(request.path, options.command.empty() ? "" : options.command[0], pid);
}

}  // namespace

Result<void> check_exports(const RecordOptions& options, pid_t pid) {
    for (const ExportRequest& request : options.exports) {
        const std::string path = path_of(request, options, pid);
        if (!options.force && ::access(path.c_str(), F_OK) == 0) {
            return unexpected(ErrorCode::already_exists,
                              path + " exists: choose another name, or replace it with --force");
        }
        const std::size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        if (::access(folder.c_str(), W_OK) != 0) {
            return unexpected(Error::from_errno("cannot write " + path));
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

std::vector<Error> write_exports(const RecordOptions& options, pid_t pid,
                                 const NamedRecording& named) {
    std::vector<Error> errors;
    for (const ExportRequest& request : options.exports) {
        callgraph::BuildOptions build;
        build.by_line = request.format->wants.lines;
        const callgraph::Profile profile =
            profile_of_recording(named.recording, named.symbols, build);
        if (const auto written = write_export(profile, *request.format,
                                              path_of(request, options, pid), options.force);
            !written) {
            errors.push_back(written.error());
        }
    }
    return errors;
}

}  // namespace sample::cli
