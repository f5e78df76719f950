#include "cli/output.h"

#include "cli/refuse.h"
#include "cli/views/text.h"
#include "core/fd.h"
#include "core/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sample::cli {
namespace {

constexpr const char* kOwnFiles = "/proc/self/fd/";

void ignore_signal(int signal) noexcept {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(signal, &ignore, nullptr);
}

/// "/a/b" → "/a/", "b" → "."
std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// A file that has no name yet, so that nothing of it stays when a signal ends us; where there are
/// no such files (open(2), O_TMPFILE), one under a name that nobody waits for. Gone again unless
/// moved.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& beside) : path_{beside + ".XXXXXX"} {
        if (::access(kOwnFiles, X_OK) == 0) {
            constexpr int kNameless = O_TMPFILE | O_WRONLY | O_CLOEXEC;
            fd_.reset(::open(folder_of(beside).c_str(), kNameless, S_IRUSR | S_IWUSR));
        }
        if (!fd_.is_open()) {
            fd_.reset(::mkostemp(path_.data(), O_CLOEXEC));  // mode 0600: mkstemp(3)
            is_named_ = fd_.is_open();
        }
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (is_named_ && !moved_) {
            ::unlink(path_.c_str());
        }
    }

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] bool is_open() const noexcept { return fd_.is_open(); }

    /// Takes the name `target`; without `replace` an existing file makes it fail with EEXIST.
    [[nodiscard]] bool move_to(const std::string& target, bool replace) noexcept {
        if (!is_named_ && !give_name()) {
            return false;
        }
        const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
        int rc = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), flags);
        if (rc != 0 && !replace && (errno == EINVAL || errno == ENOSYS)) {
            // Some file systems know no RENAME_NOREPLACE; a second link refuses an existing name
            // too. The destructor takes the first name away.
            return ::link(path_.c_str(), target.c_str()) == 0;
        }
        moved_ = rc == 0;
        return moved_;
    }

private:
    /// A nameless file can take a name, but no other file's: that is for the move.
    bool give_name() noexcept {
        const Fd found{::mkostemp(path_.data(), O_CLOEXEC)};
        if (!found.is_open() || ::unlink(path_.c_str()) != 0) {
            return false;
        }
        const std::string self = kOwnFiles + std::to_string(fd_.get());
        is_named_ =
            ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
        return is_named_;
    }

    std::string path_;
    Fd fd_;
    bool is_named_ = false;
    bool moved_ = false;
};

using Write = std::function<Result<void>(int fd)>;

/// A system error says which file.
Result<void> naming(const std::string& path, Result<void> written) {
    if (written || written.error().code != ErrorCode::system) {
        return written;
    }
    if (written.error().errno_value == ETIMEDOUT) {
        return refuse(
            "{} is full, and nobody has read it for {} seconds: start its reader, and write again",
            path, kWritePatienceMs / 1000);
    }
    return unexpected(
        Error{ErrorCode::system, written.error().errno_value, "cannot write " + path});
}

/// The same of standard output, whose reader may go.
Result<void> to_stdout(Result<void> written) {
    if (written || written.error().code != ErrorCode::system) {
        return written;
    }
    const int problem = written.error().errno_value;
    return problem == EPIPE
               ? Result<void>{}
               : unexpected(Error{ErrorCode::system, problem, "cannot write to standard output"});
}

Result<void> write_through(const std::string& path, const Write& write) {
    SAMPLE_TRY(fd, open_special(path));
    Result<void> written = write(fd.get());
    if (!written && written.error().errno_value == EPIPE) {
        return {};
    }
    return naming(path, std::move(written));
}

}  // namespace

std::string follow_links(const std::string& path) {
    std::array<char, PATH_MAX> resolved{};
    return ::realpath(path.c_str(), resolved.data()) == nullptr ? path : resolved.data();
}

Unexpected already_exists(const std::string& path) {
    return refuse(ErrorCode::already_exists,
                  "{} exists: choose another name, or replace it with --force", path);
}

Result<Fd> open_special(const std::string& path) {
    // What is there is what is opened: no regular file that took its name meanwhile.
    const Fd place{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    struct stat info {};
    if (!place.is_open() || ::fstat(place.get(), &info) != 0) {
        return unexpected(Error::from_errno("cannot open " + path));
    }
    if (S_ISDIR(info.st_mode)) {
        return refuse("{} is a directory: name a file in it", path);
    }
    if (S_ISBLK(info.st_mode) || S_ISREG(info.st_mode)) {
        return refuse("{} {}", path,
                      S_ISREG(info.st_mode) ? "has just been replaced by a file: try again"
                                            : "is a disk: name a file");
    }
    const std::string link = kOwnFiles + std::to_string(place.get());
    Fd fd{::open(link.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (fd.is_open()) {
        return fd;
    }
    if (errno == ENXIO && S_ISFIFO(info.st_mode)) {
        return refuse("{} is a pipe that nobody reads: start its reader first", path);
    }
    return unexpected(Error::from_errno("cannot open " + path));
}

Result<void> write_all(int fd, std::string_view bytes) {
    return sample::write_all(fd, bytes) == bytes.size()
               ? Result<void>{}
               : unexpected(Error::from_errno("cannot write"));
}

Result<void> write_to_stdout(std::string_view text) {
    return to_stdout(write_all(STDOUT_FILENO, text));
}

Result<void> write_to_stdout(const Write& write) {
    return to_stdout(write(STDOUT_FILENO));
}

Result<void> page(std::string_view text, bool pages) {
    constexpr int kNotFound = 127;
    const char* const chosen = std::getenv("PAGER");
    const std::string pager = chosen == nullptr ? "less" : chosen;
    if (!pages || pager.empty() || pager == "cat" || ::isatty(STDOUT_FILENO) == 0) {
        return write_to_stdout(text);
    }
    // Colours, no clearing of the screen, and not at all if it fits.
    ::setenv("LESS", "FRX", 0);
    ::setenv("LESSCHARSET", "utf-8", 0);
    std::FILE* const pipe = ::popen(pager.c_str(), "we");
    if (pipe == nullptr) {
        return write_to_stdout(text);
    }
    // Ctrl-C is for the pager, which stays until its user leaves it.
    ignore_signal(SIGINT);
    const Result<void> written = write_all(::fileno(pipe), text);
    const int status = ::pclose(pipe);
    return WIFEXITED(status) && WEXITSTATUS(status) == kNotFound ? write_to_stdout(text)
                                                                 : to_stdout(written);
}

std::string printable_lines(std::string_view text) {
    std::string lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
        const bool has_return = text.substr(0, end).ends_with('\r') && text.substr(end, 1) == "\n";
        lines += printable(text.substr(0, has_return ? end - 1 : end));
        lines += text.substr(end, 1);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

Result<std::string> write_export(const callgraph::Profile& profile,
                                 const analysis::ExportFormat& format, const std::string& path,
                                 bool force) {
    constexpr std::uint64_t kMegabyte = 1'000'000;
    constexpr std::uint64_t kLarge = 100 * kMegabyte;
    std::uint64_t size = 0;
    // Names may come from anywhere, and a terminal obeys some.
    const bool is_shown = path == "-" && ::isatty(STDOUT_FILENO) == 1;
    const auto write = [&](int fd) {
        return format.write(profile, [fd, is_shown, &size](std::string_view bytes) {
            size += bytes.size();
            return is_shown ? write_all(fd, printable_lines(bytes)) : write_all(fd, bytes);
        });
    };
    SAMPLE_CHECK(path == "-" ? write_to_stdout(write) : write_file_atomically(path, write, force));
    if (size <= kLarge) {
        return std::string{};
    }
    return fmt::format(
        "{} has {} MB. To make it smaller, shorten its stacks with sample export --fold recursion "
        "or --fold inlined, or choose the format pprof or firefox, which hold each stack once",
        path == "-" ? "the output" : path, grouped(size / kMegabyte));
}

void ignore_broken_pipes() noexcept {
    ignore_signal(SIGPIPE);
}

void ignore_size_limit() noexcept {
    ignore_signal(SIGXFSZ);
}

Result<void> write_file_atomically(const std::string& path, const Write& write, bool force) {
    const std::string target = follow_links(path);
    struct stat info {};
    if (::stat(target.c_str(), &info) == 0) {
        if (!S_ISREG(info.st_mode)) {
            return write_through(path, write);
        }
        if (!force) {
            return already_exists(path);
        }
    }
    TemporaryFile file{target};
    if (!file.is_open()) {
        return unexpected(Error::from_errno("cannot create " + path));
    }
    SAMPLE_CHECK(naming(path, write(file.fd())));
    if (::fsync(file.fd()) != 0 && errno != EINVAL) {
        return unexpected(Error::from_errno("cannot write " + path));
    }
    if (!file.move_to(target, force)) {
        return errno == EEXIST ? already_exists(path)
                               : unexpected(Error::from_errno("cannot create " + path));
    }
    return {};
}

void print_error(std::string_view text, const std::vector<std::string>& below) {
    std::string lines = "sample: " + printable(text) + "\n";
    for (const std::string& line : below) {
        lines += printable(line) + "\n";
    }
    (void)write_all(STDERR_FILENO, lines);
}

}  // namespace sample::cli
