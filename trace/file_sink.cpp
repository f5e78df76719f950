#include "trace/file_sink.h"

#include "core/fd.h"
#include "trace/wire.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace sample::trace {
namespace {

/// Keeps SIGPIPE from this thread while alive, and takes back the one that our write raised.
/// Source: signal(7), "SIGPIPE is a synchronous, thread-directed signal"; sigtimedwait(2).
class SigpipeGuard {
public:
    explicit SigpipeGuard(bool active) noexcept : active_{active} {
        if (!active_) {
            return;
        }
        sigset_t pending;
        sigemptyset(&pending);
        sigpending(&pending);
        active_ = sigismember(&pending, SIGPIPE) == 0;
        if (active_) {
            sigset_t pipe_only;
            sigemptyset(&pipe_only);
            sigaddset(&pipe_only, SIGPIPE);
            pthread_sigmask(SIG_BLOCK, &pipe_only, &before_);
        }
    }
    SigpipeGuard(const SigpipeGuard&) = delete;
    SigpipeGuard& operator=(const SigpipeGuard&) = delete;
    SigpipeGuard(SigpipeGuard&&) = delete;
    SigpipeGuard& operator=(SigpipeGuard&&) = delete;
    ~SigpipeGuard() {
        if (!active_) {
            return;
        }
        const int saved = errno;
        sigset_t pipe_only;
        sigemptyset(&pipe_only);
        sigaddset(&pipe_only, SIGPIPE);
        const timespec no_wait{};
        while (sigtimedwait(&pipe_only, nullptr, &no_wait) < 0 && errno == EINTR) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = saved;
    }

private:
    bool active_;
    sigset_t before_{};
};

/// How many of the first `limit` bytes of `packets` are whole packets.
std::size_t whole_packets(std::span<const std::byte> packets, std::size_t limit) {
    std::size_t end = 0;
    while (end + wire::kPacketHeaderBytes <= limit) {
        const std::size_t size = wire::load<std::uint16_t>(packets.data() + end);
        if (size < wire::kPacketHeaderBytes || size > limit - end) {
            break;
        }
        end += size;
    }
    return end;
}

}  // namespace

Result<FileSink> FileSink::create(Fd file) {
    struct stat status {};
    if (fstat(file.get(), &status) != 0) {
        return unexpected(Error::from_errno("the recording's file"));
    }
    if (S_ISREG(status.st_mode)) {
        const off_t start = lseek(file.get(), 0, SEEK_CUR);
        if (start < 0) {
            return unexpected(Error::from_errno("the recording's file"));
        }
        return FileSink{std::move(file), Kind::regular, start};
    }
    const bool pipe_like = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    return FileSink{std::move(file), pipe_like ? Kind::pipe_or_socket : Kind::other, 0};
}

void FileSink::fail(Error error) {
    if (status_.has_value()) {
        status_ = unexpected(std::move(error));
    }
}

std::size_t FileSink::write_all(std::span<const std::byte> bytes) {
    const SigpipeGuard guard{kind_ == Kind::pipe_or_socket};
    const std::size_t done = sample::write_all(file_.get(), bytes);
    if (done < bytes.size()) {
        fail(errno == ETIMEDOUT
                 ? Error{ErrorCode::system, ETIMEDOUT, "nobody reads the recording any more"}
                 : Error::from_errno("cannot write the recording"));
    }
    return done;
}

void FileSink::keep(std::size_t whole_bytes) {
    written_ += whole_bytes;
    if (has_failed() && kind_ == Kind::regular) {
        // The error that brought us here is the one to report.
        [[maybe_unused]] const int ignored =
            ftruncate(file_.get(), start_ + static_cast<off_t>(written_));
    }
}

Result<void> FileSink::write_header(std::span<const std::byte> header) {
    if (!has_failed()) {
        keep(write_all(header) == header.size() ? header.size() : 0);
    }
    return status_;
}

Result<void> FileSink::write_packets(std::span<const std::byte> packets) {
    if (!has_failed()) {
        keep(whole_packets(packets, write_all(packets)));
    }
    return status_;
}

}  // namespace sample::trace
