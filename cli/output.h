// Where results go: standard output, which may be a closed pipe or a full disk, and files that are
// either whole or not there.
#pragma once

#include "analysis/export_format.h"
#include "callgraph/profile.h"
#include "core/fd.h"
#include "core/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {

/// Writes all of `bytes` to the descriptor, through interruptions and short writes. A descriptor
/// that does not block is waited for as long as somebody reads now and then.
/// Errors: system, with the errno (EPIPE: the reader has gone; ETIMEDOUT: it reads no more).
[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes);

/// Writes a verb's result to standard output. A reader that has closed the pipe (`| head`) is no
/// error: that is its right. Errors: system.
[[nodiscard]] Result<void> write_to_stdout(std::string_view text);
/// What `write` writes to a descriptor, likewise.
[[nodiscard]] Result<void> write_to_stdout(const std::function<Result<void>(int fd)>& write);

/// The same, through $PAGER (less, as git starts it) where standard output is a terminal and
/// `pages`; without a pager, or where it does not start, as it is.
[[nodiscard]] Result<void> page(std::string_view text, bool pages);

/// printable() of each line: line breaks (as "\n") and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// Writes `profile` in a format, a piece at a time, to the file `path` as write_file_atomically()
/// does it; "-": as write_to_stdout(), to a terminal as printable_lines(). Returns what its user
/// should hear of so large a file, and what makes it smaller; of others, nothing. Errors: theirs;
/// what the format cannot hold.
[[nodiscard]] Result<std::string> write_export(const callgraph::Profile& profile,
                                               const analysis::ExportFormat& format,
                                               const std::string& path, bool force);

/// Makes a closed pipe an error of write() instead of a signal. Never before starting the user's
/// command: it would inherit this.
void ignore_broken_pipes() noexcept;
/// Likewise a file that becomes larger than `ulimit -f` allows.
void ignore_size_limit() noexcept;

/// Puts what `write` writes to a descriptor into the file `path`, mode 0600: first into a temporary
/// file beside it, which takes the name only when it is whole. Something that is no regular file is
/// written to as open_special() opens it. A symbolic link is followed.
/// Errors: already_exists unless `force`; those of open_special(); system, naming `path`,
/// also for a system error of `write`; other errors of `write` as they are. After an error the name
/// is as it was before.
[[nodiscard]] Result<void> write_file_atomically(const std::string& path,
                                                 const std::function<Result<void>(int fd)>& write,
                                                 bool force);

/// What is there already and is no regular file (a pipe, a terminal, /dev/null), for writing. It
/// stays as it is, whoever asks, and nothing waits for a reader.
/// Errors: invalid_argument for a directory or a disk, and for a pipe that nobody reads; system.
[[nodiscard]] Result<Fd> open_special(const std::string& path);

/// Where symbolic links lead; `path` itself, if to nothing.
[[nodiscard]] std::string follow_links(const std::string& path);

/// `path` is there, and may be replaced if the user says so.
[[nodiscard]] Unexpected already_exists(const std::string& path);

/// "sample: TEXT" on standard error, and `below`, each on a line of its own: names of files are in
/// it, so what a terminal would obey is escaped.
void print_error(std::string_view text, const std::vector<std::string>& below = {});

}  // namespace sample::cli
