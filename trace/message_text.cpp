#include "trace/message_text.h"

#include "trace/text.h"
#include "trace/wire.h"

#include <utf8.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <variant>

namespace sample::trace {
namespace {

constexpr std::size_t kMaxMessageBytes = std::size_t{64} * 1024;
constexpr int kMostWidth = 1024;
constexpr unsigned kKindShift = 6;
constexpr std::byte kSizeBits{0x3f};

struct Integer {
    std::uint64_t bits = 0;
    std::size_t bytes = 0;

    [[nodiscard]] std::int64_t extended() const {
        const std::size_t unused = 64 - 8 * bytes;
        return static_cast<std::int64_t>(bits << unused) >> unused;
    }
};
using Argument = std::variant<std::monostate, Integer, double, std::string>;

/// What is no character becomes U+FFFD.
void add_character(std::uint32_t point, std::string& out) {
    constexpr std::uint32_t kReplacement = 0xfffd;
    const bool is_good = point < 0xd800 || (point >= 0xe000 && point < 0x110000);
    utf8::unchecked::append(is_good ? point : kReplacement, std::back_inserter(out));
}

/// UTF-8 of the text of an argument, without its end.
std::string utf8_of(std::span<const std::byte> text, std::size_t unit_bytes) {
    if (unit_bytes == 2) {
        return utf8_from_utf16(text);
    }
    std::string out;
    if (unit_bytes == 4) {
        for (; text.size() >= 4; text = text.subspan(4)) {
            add_character(wire::load<std::uint32_t>(text.data()), out);
        }
        return out;
    }
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

/// Takes the arguments one by one.
class Arguments {
public:
    explicit Arguments(std::span<const std::byte> blob) {
        if (!blob.empty()) {
            const auto count = std::to_integer<std::size_t>(blob.front());
            kinds_ = blob.subspan(1, std::min(count, blob.size() - 1));
            values_ = blob.subspan(1 + kinds_.size());
        }
    }

    /// None: there are no more, or it is cut off.
    Argument next() {
        if (kinds_.empty()) {
            return {};
        }
        const auto kind = std::to_integer<unsigned>(kinds_.front() >> kKindShift);
        const auto bytes = std::to_integer<std::size_t>(kinds_.front() & kSizeBits);
        kinds_ = kinds_.subspan(1);
        if (kind == 3) {
            return text(bytes);
        }
        if (bytes > values_.size()) {
            kinds_ = {};
            return {};
        }
        const std::span<const std::byte> value = values_.first(bytes);
        values_ = values_.subspan(bytes);
        if (kind == 1 && bytes >= 1 && bytes <= sizeof(std::uint64_t)) {
            Integer integer{0, bytes};
            std::memcpy(&integer.bits, value.data(), bytes);
            return integer;
        }
        if (kind == 2 && bytes == sizeof(double)) {
            return wire::load<double>(value.data());
        }
        if (kind == 2 && bytes == sizeof(float)) {
            return double{wire::load<float>(value.data())};
        }
        return {};
    }

private:
    Argument text(std::size_t unit_bytes) {
        const std::size_t unit = unit_bytes == 2 || unit_bytes == 4 ? unit_bytes : 1;
        std::size_t end = 0;
        const auto is_end = [&] {
            return std::all_of(values_.begin() + static_cast<std::ptrdiff_t>(end),
                               values_.begin() + static_cast<std::ptrdiff_t>(end + unit),
                               [](std::byte byte) { return byte == std::byte{}; });
        };
        while (end + unit <= values_.size() && !is_end()) {
            end += unit;
        }
        std::string out = utf8_of(values_.first(end), unit);
        values_ = values_.subspan(std::min(values_.size(), end + unit));
        return out;
    }

    std::span<const std::byte> kinds_;
    std::span<const std::byte> values_;
};

/// One conversion of the format: %[flags][width][.precision][length]letter.
struct Conversion {
    std::string flags;
    int width = 0;
    std::optional<int> precision = {};
    bool is_long = false;
    char letter = 0;
};

class Text {
public:
    Text(std::string_view format, std::span<const std::byte> arguments)
        : rest_{format}, arguments_{arguments} {}

    std::string make() {
        while (!rest_.empty() && out_.size() < kMaxMessageBytes) {
            const std::size_t percent = std::min(rest_.find('%'), rest_.size());
            out_ += rest_.substr(0, percent);
            rest_ = rest_.substr(percent);
            if (rest_.starts_with("%%")) {
                out_ += '%';
                rest_ = rest_.substr(2);
            } else if (!rest_.empty()) {
                convert();
            }
        }
        return bounded_text(utf8::replace_invalid(out_), kMaxMessageBytes);
    }

private:
    [[nodiscard]] bool at(std::string_view letters) const {
        return !rest_.empty() && letters.find(rest_.front()) != std::string_view::npos;
    }
    char take() {
        const char letter = rest_.front();
        rest_ = rest_.substr(1);
        return letter;
    }
    int take_number() {
        int number = 0;
        while (at("0123456789")) {
            number = std::min(number * 10 + (take() - '0'), kMostWidth);
        }
        return number;
    }
    /// "*": the next argument says it. None if that is no integer.
    std::optional<int> number_or_star() {
        if (!at("*")) {
            return take_number();
        }
        take();
        const Argument argument = arguments_.next();
        const auto* const integer = std::get_if<Integer>(&argument);
        if (integer == nullptr) {
            return std::nullopt;
        }
        return static_cast<int>(
            std::clamp<std::int64_t>(integer->extended(), -kMostWidth, kMostWidth));
    }

    void convert() {
        const std::string_view start = rest_;
        take();
        Conversion conversion;
        while (at("-+ #0")) {
            conversion.flags += take();
        }
        std::optional<int> width = number_or_star();
        bool is_good = width.has_value();
        conversion.width = width.value_or(0);
        if (at(".")) {
            take();
            conversion.precision = number_or_star();
            is_good = is_good && conversion.precision.has_value();
            if (conversion.precision.value_or(0) < 0) {
                conversion.precision.reset();
            }
        }
        while (at("hljztLqI")) {
            conversion.is_long = take() == 'l' || conversion.is_long;
            if (rest_.starts_with("64") || rest_.starts_with("32")) {
                rest_ = rest_.substr(2);  // "I64"
            }
        }
        if (rest_.empty()) {
            out_ += start;
            return;
        }
        conversion.letter = take();
        if (!is_good || !print(conversion)) {
            out_.append("[").append(start.substr(0, start.size() - rest_.size())).append("]");
        }
    }

    bool print(const Conversion& conversion) {
        const Argument argument = arguments_.next();
        if (const auto* const integer = std::get_if<Integer>(&argument)) {
            return print(conversion, *integer);
        }
        if (const auto* const real = std::get_if<double>(&argument)) {
            return print(conversion, *real);
        }
        if (const auto* const text = std::get_if<std::string>(&argument)) {
            return print(conversion, *text);
        }
        return false;
    }
    bool print(const Conversion& conversion, const Integer& value) {
        switch (conversion.letter) {
            case 'd':
            case 'i':
                return put(conversion, "ll", static_cast<long long>(value.extended()));
            case 'u':
            case 'x':
            case 'X':
            case 'o':
                return put(conversion, "ll", static_cast<unsigned long long>(value.bits));
            case 'p': {
                Conversion hexadecimal = conversion;
                hexadecimal.flags += '#';
                hexadecimal.letter = 'x';
                return put(hexadecimal, "ll", static_cast<unsigned long long>(value.bits));
            }
            case 'c':
            case 'C': {
                const bool is_wide = conversion.is_long || conversion.letter == 'C';
                std::string letter;
                add_character(static_cast<std::uint32_t>(value.bits & (is_wide ? ~0U : 0xffU)),
                              letter);
                return pad(conversion, letter);
            }
            default:
                return false;
        }
    }
    bool print(const Conversion& conversion, double value) {
        return std::string_view{"aAeEfFgG"}.find(conversion.letter) != std::string_view::npos &&
               put(conversion, "", value);
    }
    bool print(const Conversion& conversion, const std::string& value) {
        if (conversion.letter != 's' && conversion.letter != 'S') {
            return false;
        }
        const std::string good = utf8::replace_invalid(value);
        const auto most = static_cast<std::size_t>(conversion.precision.value_or(INT_MAX));
        std::size_t bytes = 0;
        for (std::size_t characters = 0; bytes < good.size() && characters < most; ++characters) {
            ++bytes;
            while (bytes < good.size() &&
                   (static_cast<unsigned char>(good[bytes]) & 0xc0) == 0x80) {
                ++bytes;
            }
        }
        return pad(conversion, good.substr(0, bytes));
    }

    bool pad(const Conversion& conversion, const std::string& text) {
        const auto characters =
            static_cast<int>(utf8::unchecked::distance(text.begin(), text.end()));
        const bool is_left =
            conversion.width < 0 || conversion.flags.find('-') != std::string::npos;
        const int missing = std::max(std::abs(conversion.width) - characters, 0);
        const std::string spaces(static_cast<std::size_t>(missing), ' ');
        out_ += is_left ? text + spaces : spaces + text;
        return true;
    }
    /// By snprintf, with a format that has what was found, and nothing else.
    template <class Value>
    bool put(const Conversion& conversion, const char* length, Value value) {
        std::string format = "%" + conversion.flags.substr(0, 8) + "*";
        format += conversion.precision ? ".*" : "";
        format += length;
        format += conversion.letter;
        std::array<char, 2 * kMostWidth + 512> buffer;  // A double has 309 digits before its point.
        const int size = conversion.precision
                             ? std::snprintf(buffer.data(), buffer.size(), format.c_str(),
                                             conversion.width, *conversion.precision, value)
                             : std::snprintf(buffer.data(), buffer.size(), format.c_str(),
                                             conversion.width, value);
        out_.append(buffer.data(), static_cast<std::size_t>(std::max(size, 0)));
        return true;
    }

    std::string_view rest_;
    Arguments arguments_;
    std::string out_;
};

}  // namespace

std::string message_text(std::string_view format, std::span<const std::byte> arguments) {
    return Text{format, arguments}.make();
}

void ArgumentsBuilder::add(Kind kind, std::size_t bytes, std::span<const std::byte> value) {
    kinds_.push_back(static_cast<std::byte>(static_cast<unsigned>(kind) << kKindShift | bytes));
    wire::append(values_, value);
}

ArgumentsBuilder& ArgumentsBuilder::integer(std::uint64_t value, std::size_t bytes) {
    add(Kind::integer, bytes, std::as_bytes(std::span{&value, 1}).first(bytes));
    return *this;
}

ArgumentsBuilder& ArgumentsBuilder::real(double value) {
    add(Kind::real, sizeof value, std::as_bytes(std::span{&value, 1}));
    return *this;
}

ArgumentsBuilder& ArgumentsBuilder::real(float value) {
    add(Kind::real, sizeof value, std::as_bytes(std::span{&value, 1}));
    return *this;
}

ArgumentsBuilder& ArgumentsBuilder::text(std::string_view value) {
    add(Kind::text, 1, std::as_bytes(std::span{value}));
    wire::append(values_, 0, 1);
    return *this;
}

ArgumentsBuilder& ArgumentsBuilder::text(std::u16string_view value) {
    add(Kind::text, 2, std::as_bytes(std::span{value}));
    wire::append(values_, 0, 2);
    return *this;
}

std::vector<std::byte> ArgumentsBuilder::arguments() const {
    std::vector<std::byte> blob;
    blob.reserve(1 + kinds_.size() + values_.size());
    wire::append(blob, kinds_.size(), 1);
    wire::append(blob, kinds_);
    wire::append(blob, values_);
    return blob;
}

}  // namespace sample::trace
