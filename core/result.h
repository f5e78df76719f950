// Result<T>: a value or an Error, spelled like std::expected (C++23) so that it can become it.
//
// Errors carry what failed and why; the text a person reads is made at the edge by
// Error::message(), and the context says what to do. Our code throws nothing.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace sample {

enum class ErrorCode {
    invalid_argument,  ///< The caller's words are off.
    not_found,
    already_exists,
    permission,
    system,   ///< A system call failed: errno_value says how.
    corrupt,  ///< Foreign bytes that do not parse.
    truncated,
    unsupported,
};

struct Error {
    ErrorCode code = ErrorCode::system;
    int errno_value = 0;
    std::string context;

    /// "context: strerror text", one line, no full stop.
    [[nodiscard]] std::string message() const;
    /// An Error of `code` system from the current errno.
    static Error from_errno(std::string context);
};

struct Unexpected {
    Error error;
};

inline Unexpected unexpected(Error error) {
    return Unexpected{std::move(error)};
}
inline Unexpected unexpected(ErrorCode code, std::string context) {
    return Unexpected{Error{code, 0, std::move(context)}};
}

template <class T>
class [[nodiscard]] Result {
public:
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(T value) : state_{std::in_place_index<0>, std::move(value)} {}
    Result(Unexpected failure)  // NOLINT(google-explicit-constructor)
        : state_{std::in_place_index<1>, std::move(failure.error)} {}

    [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    [[nodiscard]] T& value() & { return std::get<0>(state_); }
    [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
    [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> : public Result<std::monostate> {
public:
    using Result<std::monostate>::Result;
    Result() : Result<std::monostate>{std::monostate{}} {}
};

}  // namespace sample

/// Declares `name` as what the Result that `expression` makes holds; a failure is returned from the
/// function around it, which returns a Result too. What is wanted as its own is moved out of
/// `name`.
#define SAMPLE_TRY(name, expression)                            \
    auto name##_or_error = (expression);                        \
    if (!name##_or_error) {                                     \
        return ::sample::Unexpected{(name##_or_error).error()}; \
    }                                                           \
    auto& name = *(name##_or_error)  // NOLINT(bugprone-macro-parentheses): a declaration

/// The same of a Result<void>, or of one whose value nobody wants.
#define SAMPLE_CHECK(expression)                           \
    do {                                                   \
        if (const auto checked = (expression); !checked) { \
            return ::sample::Unexpected{checked.error()};  \
        }                                                  \
    } while (false)
