#include "cli/export_profile.h"

#include "cli/output.h"

#include <unistd.h>

#include <cerrno>

namespace sample::cli {
namespace {

exports::Sink to_fd(int fd) {
    return [fd](std::string_view bytes) { return write_all(fd, bytes); };
}

}  // namespace

Result<void> write_export(const callgraph::Profile& profile, const analysis::ExportFormat& format,
                          const std::string& path, bool force) {
    return write_file_atomically(
        path, [&](int fd) { return format.write(profile, to_fd(fd)); }, force);
}

Result<void> write_export_to_stdout(const callgraph::Profile& profile,
                                    const analysis::ExportFormat& format) {
    Result<void> written = format.write(profile, to_fd(STDOUT_FILENO));
    if (written || written.error().code != ErrorCode::system) {
        return written;
    }
    if (written.error().errno_value == EPIPE) {
        return {};
    }
    return unexpected(
        Error{ErrorCode::system, written.error().errno_value, "cannot write to standard output"});
}

}  // namespace sample::cli
