#include "export/writer.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace sample::exports {

namespace {

constexpr std::size_t kMaxDigits = 20;  // of 64 bits

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

Writer::Writer(const Sink& sink) : sink_{sink}, buffer_{std::make_unique<char[]>(kBufferBytes)} {}

/// What does not fit behind what is buffered.
Writer& Writer::large_text(std::string_view bytes) {
    flush();
    if (bytes.size() >= kBufferBytes) {
        give(bytes);
        return *this;
    }
    return text(bytes);
}

Writer& Writer::number(std::uint64_t value) {
    std::array<char, kMaxDigits> digits;  // NOLINT(*-member-init): written below
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return text({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

Writer& Writer::decimal(std::int64_t value, unsigned digits) {
    constexpr std::uint64_t kBase = 10;
    std::array<char, kMaxDigits + 3> text_of;  // NOLINT(*-member-init): written from its end
    char* const end = text_of.data() + text_of.size();
    char* begin = end;
    const std::uint64_t magnitude =
        value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    std::uint64_t rest = magnitude;
    for (; digits != 0; --digits, rest /= kBase) {
        const char digit = static_cast<char>('0' + rest % kBase);
        if (begin != end || digit != '0') {
            *--begin = digit;
        }
    }
    if (begin != end) {
        *--begin = '.';
    }
    do {
        *--begin = static_cast<char>('0' + rest % kBase);
        rest /= kBase;
    } while (rest != 0);
    if (value < 0) {
        *--begin = '-';
    }
    return text({begin, static_cast<std::size_t>(end - begin)});
}

Result<void> Writer::finish() {
    flush();
    return result_;
}

void Writer::flush() {
    give({buffer_.get(), used_});
    used_ = 0;
}

void Writer::give(std::string_view bytes) {
    if (result_ && !bytes.empty()) {
        result_ = sink_(bytes);
    }
}

}  // namespace sample::exports
