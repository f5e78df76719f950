#include "export/writer.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sample::exports {

namespace {

constexpr std::size_t kBufferBytes = 1U << 16U;

}  // namespace

Sink to_string_sink(std::string& text) {
    return [&text](std::string_view bytes) {
        text += bytes;
        return Result<void>{};
    };
}

Sink to_fd_sink(int fd, std::string name) {
    return [fd, name = std::move(name)](std::string_view bytes) -> Result<void> {
        while (!bytes.empty()) {
            const ssize_t written = ::write(fd, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written < 0) {
                return unexpected(
                    Error::from_errno("cannot write " + name + " (what is there is not complete)"));
            }
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
        return {};
    };
}

Writer::Writer(const Sink& sink) : sink_{sink} {
    buffer_.reserve(kBufferBytes);
}

Writer& Writer::text(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kBufferBytes) {
        flush();
    }
    return *this;
}

Writer& Writer::number(std::uint64_t value) {
    return text(std::to_string(value));
}

Result<void> Writer::finish() {
    flush();
    return result_;
}

void Writer::flush() {
    if (result_ && !buffer_.empty()) {
        result_ = sink_(buffer_);
    }
    buffer_.clear();
}

}  // namespace sample::exports
