// Where an export goes: a function that takes bytes and may fail, and a buffer in front of it.
//
// Formats write small pieces and look at no result; the first failure (a full disk, a closed pipe)
// is kept, everything after it is dropped, and finish() returns it.
//
// The folder's namespace is sample::exports because `export` is a C++20 keyword.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sample::exports {

/// Takes all of the bytes or fails.
using Sink = std::function<Result<void>(std::string_view)>;

/// Appends to `text`, which must outlive the sink. Never fails.
[[nodiscard]] Sink to_string_sink(std::string& text);

/// Writes to a descriptor, which the caller keeps open and closes. `name` is for the error's text:
/// what the descriptor is. Survives EINTR and short writes.
[[nodiscard]] Sink to_fd_sink(int fd, std::string name);

class Writer {
public:
    explicit Writer(const Sink& sink);

    Writer& text(std::string_view bytes) {
        if (bytes.size() > kBufferBytes - used_) {
            return large_text(bytes);
        }
        used_ += bytes.copy(buffer_.get() + used_, bytes.size());
        return *this;
    }
    Writer& number(std::uint64_t value);
    /// `value` / 10^`digits`, exact, without zeros at its end: "-0.25". `digits` is at most 18.
    Writer& decimal(std::int64_t value, unsigned digits);

    /// False once the sink has failed: a long export may stop early.
    [[nodiscard]] bool is_good() const { return result_.has_value(); }
    /// Hands over what is buffered. The first failure, if there was one.
    [[nodiscard]] Result<void> finish();

private:
    static constexpr std::size_t kBufferBytes = 1U << 16U;

    Writer& large_text(std::string_view bytes);
    void flush();
    void give(std::string_view bytes);

    const Sink& sink_;
    std::unique_ptr<char[]> buffer_;  // NOLINT(*-avoid-c-arrays): raw storage
    std::size_t used_ = 0;
    Result<void> result_;
};

}  // namespace sample::exports
