// Where results go: standard output, which may be a closed pipe or a full disk, and files that are
// either whole or not there.
#pragma once

#include "core/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace sample::cli {

/// Writes all of `bytes` to the descriptor, through interruptions and short writes.
/// Errors: system, with the errno (EPIPE: the reader has gone).
[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes);

/// Writes a verb's result to standard output and returns the verb's exit code: 0, also when the
/// reader has closed the pipe (`| head`), which is its right; 1 with a message when writing fails.
[[nodiscard]] int write_to_stdout(std::string_view text);

/// Makes a closed pipe an error of write() instead of a signal. Never before starting the user's
/// command: it would inherit this.
void ignore_broken_pipes() noexcept;

/// Puts what `write` writes to a descriptor into the file `path`, mode 0600: first into a temporary
/// file beside it, which takes the name only when it is whole. Something that is no regular file (a
/// pipe, /dev/stdout) is written to directly. A symbolic link is followed.
/// Errors: already_exists unless `force`; invalid_argument for a directory; system, naming `path`,
/// also for a system error of `write`; other errors of `write` as they are. After an error the name
/// is as it was before.
[[nodiscard]] Result<void> write_file_atomically(const std::string& path,
                                                 const std::function<Result<void>(int fd)>& write,
                                                 bool force);

/// "sample: TEXT" on standard error.
void print_error(std::string_view text);

}  // namespace sample::cli
