#include "export/shared/writer.h"

#include <fmt/format.h>

#include <utility>

namespace sample::exports {

Sink to_string_sink(std::string& text) {
    return [&text](std::string_view bytes) {
        text += bytes;
        return Result<void>{};
    };
}

std::string decimal(std::uint64_t value, std::uint64_t unit) {
    std::string text{fmt::format_int{value / unit}.c_str()};
    if (const std::uint64_t rest = value % unit; rest != 0) {
        const std::size_t point = text.size();
        text += fmt::format_int{unit + rest}.c_str();  // Its first digit, 1, keeps zeros behind it.
        text[point] = '.';
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text;
}

std::string decimal(std::int64_t value, std::uint64_t unit) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? "-" + decimal(-bits, unit) : decimal(bits, unit);
}

Writer::Writer(const Sink& sink) : sink_{sink}, buffer_{std::make_unique<char[]>(kBufferBytes)} {}

/// What does not fit behind what is buffered.
void Writer::add_large(std::string_view bytes) {
    give({buffer_.get(), std::exchange(used_, 0)});
    if (bytes.size() >= kBufferBytes) {
        give(bytes);
    } else {
        add(bytes);
    }
}

void Writer::add_number(std::uint64_t number) {
    const fmt::format_int digits{number};
    add(std::string_view{digits.data(), digits.size()});
}

Result<void> Writer::finish() {
    give({buffer_.get(), std::exchange(used_, 0)});
    return result_;
}

void Writer::give(std::string_view bytes) {
    if (result_ && !bytes.empty()) {
        result_ = sink_(bytes);
    }
}

}  // namespace sample::exports
