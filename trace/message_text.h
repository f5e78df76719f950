// The text of a message: its format, as printf's, and its arguments, which were copied when it was
// said.
#pragma once

#include "trace/instrumentation.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

/// `arguments` as Message has them. The text is UTF-8: what is none is replaced, and wide text (2
/// or 4 bytes a character) is converted. A conversion without an argument, or whose argument is of
/// another kind (text for %d), is shown as it stands in the format, in brackets: "[%d]". Arguments
/// that are left over are not shown. At most 64 KiB; width and precision count up to 1024. Never
/// reads beyond the two, whatever their bytes are.
[[nodiscard]] std::string message_text(std::string_view format,
                                       std::span<const std::byte> arguments);

/// Makes a message's arguments. At most 255 of them, and 63 bytes each but for texts.
class ArgumentsBuilder {
public:
    ArgumentsBuilder& integer(std::uint64_t value, std::size_t bytes = 8);
    ArgumentsBuilder& real(double value);
    ArgumentsBuilder& real(float value);
    ArgumentsBuilder& text(std::string_view value);
    ArgumentsBuilder& text(std::u16string_view value);
    [[nodiscard]] std::vector<std::byte> arguments() const;

private:
    enum class Kind : std::uint8_t { integer = 1, real, text };
    void add(Kind kind, std::size_t bytes, std::span<const std::byte> value);

    std::vector<std::byte> kinds_;
    std::vector<std::byte> values_;
};

}  // namespace sample::trace
