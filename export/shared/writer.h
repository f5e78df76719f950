// Where an export goes: a function that takes bytes and may fail, and a buffer in front of it.
//
// Formats write small pieces and look at no result; the first failure (a full disk, a closed pipe)
// is kept, everything after it is dropped, and finish() returns it.
//
// The folder's namespace is sample::exports because `export` is a C++20 keyword.
#pragma once

#include "core/result.h"

#include <concepts>
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

/// `value` / `unit`, which is a power of ten, exact, without zeros at its end: "-0.25".
[[nodiscard]] std::string decimal(std::uint64_t value, std::uint64_t unit);
[[nodiscard]] std::string decimal(std::int64_t value, std::uint64_t unit);

class Writer {
public:
    explicit Writer(const Sink& sink);

    /// Writes texts and whole numbers, one after the other.
    template <class... Parts>
    Writer& put(const Parts&... parts) {
        (add(parts), ...);
        return *this;
    }

    /// False once the sink has failed: a long export may stop early.
    [[nodiscard]] bool is_good() const { return result_.has_value(); }
    /// Hands over what is buffered. The first failure, if there was one.
    [[nodiscard]] Result<void> finish();

private:
    static constexpr std::size_t kBufferBytes = 1U << 16U;

    void add(std::string_view bytes) {
        if (bytes.size() > kBufferBytes - used_) {
            add_large(bytes);
        } else {
            used_ += bytes.copy(buffer_.get() + used_, bytes.size());
        }
    }
    void add(std::unsigned_integral auto number) { add_number(number); }
    void add(std::signed_integral auto number) { add(std::to_string(number)); }
    void add_number(std::uint64_t number);
    void add_large(std::string_view bytes);
    void give(std::string_view bytes);

    const Sink& sink_;
    std::unique_ptr<char[]> buffer_;  // NOLINT(*-avoid-c-arrays): raw storage
    std::size_t used_ = 0;
    Result<void> result_;
};

}  // namespace sample::exports
