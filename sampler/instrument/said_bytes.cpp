#include "sampler/instrument/said_bytes.h"

#include <algorithm>

namespace sample::instrument {
namespace {

using capture::NoteKind;

// trace::Message::arguments
constexpr std::uint8_t kInteger = 1U << 6U;
constexpr std::uint8_t kReal = 2U << 6U;
constexpr std::uint8_t kText = 3U << 6U;
constexpr std::size_t kMostArguments = 24;

enum class Size : std::uint8_t { of_int, of_char, of_short, of_long, of_long_double };

/// One conversion of a format.
struct Conversion {
    char letter = '\0';  ///< '\0': there is none any more.
    Size size = Size::of_int;
    unsigned stars = 0;  ///< Widths and precisions among the arguments.
    /// How much of a text there is to be read, which need not end then.
    std::size_t precision = SIZE_MAX;
    bool has_star_precision = false;
};

bool is_one_of(char letter, const char* letters) noexcept {
    for (; *letters != '\0'; ++letters) {
        if (*letters == letter) {
            return true;
        }
    }
    return false;
}

/// Flags, width and precision, behind which `at` is moved.
void read_numbers(const char*& at, Conversion& found) noexcept {
    for (; is_one_of(*at, "-+ #0123456789.*'"); ++at) {
        found.stars += *at == '*' ? 1 : 0;
        if (*at == '.') {
            found.precision = 0;
        } else if (found.precision != SIZE_MAX && *at == '*') {
            found.has_star_precision = true;
        } else if (found.precision != SIZE_MAX) {
            found.precision = found.precision * 10 + static_cast<unsigned>(*at - '0');
        }
    }
}

/// The next one from `at` on, which is moved behind it.
Conversion next_conversion(const char*& at) noexcept {
    for (; *at != '\0'; ++at) {
        if (*at != '%') {
            continue;
        }
        ++at;
        Conversion found;
        read_numbers(at, found);
        for (; is_one_of(*at, "hlqjztL"); ++at) {
            if (*at == 'L') {
                found.size = Size::of_long_double;
            } else if (*at == 'h') {
                found.size = found.size == Size::of_short ? Size::of_char : Size::of_short;
            } else {
                found.size = Size::of_long;
            }
        }
        if (*at == '\0') {
            return {};
        }
        found.letter = *at;
        if (found.letter != '%') {
            ++at;
            return found;
        }
    }
    return {};
}

/// What the arguments are, and what they say.
struct Arguments {
    std::size_t count = 0;
    std::array<std::uint8_t, kMostArguments> kinds;
    std::array<std::uint64_t, kMostArguments> values;  ///< Of a text its address.
    std::array<std::size_t, kMostArguments> most;      ///< Bytes of a text, its 0 included.

    void add(std::uint8_t kind, std::uint64_t value, std::size_t precision = SIZE_MAX) noexcept {
        kinds[count] = kind;
        values[count] = value;
        most[count] = precision == SIZE_MAX ? precision : precision + 1;
        ++count;
    }
};

std::uint64_t bits_of(double value) noexcept {
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// Room for one text of wide characters as UTF-8.
struct Narrow {
    std::array<char, 128> bytes;
    bool is_used = false;
};

const char* narrowed(const wchar_t* text, Narrow& narrow) noexcept {
    if (narrow.is_used) {
        return "(...)";
    }
    narrow.is_used = true;
    std::size_t size = 0;
    const auto put = [&](std::uint32_t byte) { narrow.bytes[size++] = static_cast<char>(byte); };
    for (; text != nullptr && *text != L'\0' && size + 5 < narrow.bytes.size(); ++text) {
        const auto code = static_cast<char32_t>(*text);
        if (code < 0x80) {
            put(code);
            continue;
        }
        if (code >= 0x10000) {
            put(0xf0 | (code >> 18U & 7));
            put(0x80 | (code >> 12U & 0x3f));
        } else if (code >= 0x800) {
            put(0xe0 | code >> 12U);
        }
        if (code >= 0x800) {
            put(0x80 | (code >> 6U & 0x3f));
        } else {
            put(0xc0 | code >> 6U);
        }
        put(0x80 | (code & 0x3f));
    }
    narrow.bytes[size] = '\0';
    return narrow.bytes.data();
}

/// As printf converts it: "%hhx" and "%hd" are of less than an int.
int shortened(int value, const Conversion& conversion) noexcept {
    const bool is_signed = is_one_of(conversion.letter, "di");
    if (conversion.size == Size::of_char) {
        return is_signed ? static_cast<int>(static_cast<signed char>(value))
                         : static_cast<int>(static_cast<unsigned char>(value));
    }
    if (conversion.size == Size::of_short) {
        return is_signed ? static_cast<int>(static_cast<short>(value))
                         : static_cast<int>(static_cast<unsigned short>(value));
    }
    return value;
}

/// Takes what `conversion` is of. False: it is of no known kind.
bool take_argument(const Conversion& conversion, std::va_list& list, Narrow& narrow,
                   Arguments& found) noexcept {
    const bool is_long = conversion.size == Size::of_long;
    if (is_one_of(conversion.letter, "diouxXcC")) {
        // glibc's %Ld is %lld.
        if ((is_long || conversion.size == Size::of_long_double) &&
            !is_one_of(conversion.letter, "cC")) {
            found.add(kInteger | 8, static_cast<std::uint64_t>(va_arg(list, long)));
        } else {
            const int value = va_arg(list, int);
            found.add(kInteger | 4, static_cast<std::uint64_t>(shortened(value, conversion)));
        }
    } else if (is_one_of(conversion.letter, "eEfFgGaA")) {
        const double value = conversion.size == Size::of_long_double
                                 ? static_cast<double>(va_arg(list, long double))
                                 : va_arg(list, double);
        found.add(kReal | 8, bits_of(value));
    } else if (conversion.letter == 'p') {
        found.add(kInteger | 8, reinterpret_cast<std::uint64_t>(va_arg(list, void*)));
    } else if (conversion.letter == 'S' || (conversion.letter == 's' && is_long)) {
        const auto* text = va_arg(list, const wchar_t*);
        found.add(kText | 1, reinterpret_cast<std::uint64_t>(narrowed(text, narrow)));
    } else if (conversion.letter == 's') {
        const char* text = va_arg(list, const char*);
        found.add(kText | 1, reinterpret_cast<std::uint64_t>(text == nullptr ? "(null)" : text),
                  conversion.precision);
    } else {
        return false;
    }
    return true;
}

/// All that `format` names and there is room for.
Arguments take_arguments(const char* format, std::va_list& list, Narrow& narrow) noexcept {
    Arguments found;
    for (;;) {
        Conversion conversion = next_conversion(format);
        if (conversion.letter == '\0' || found.count + conversion.stars + 1 > found.kinds.size()) {
            return found;
        }
        int star_value = 0;
        for (unsigned star = 0; star < conversion.stars; ++star) {
            star_value = va_arg(list, int);
            found.add(kInteger | 4, static_cast<std::uint64_t>(star_value));
        }
        if (conversion.has_star_precision) {
            conversion.precision = star_value < 0 ? SIZE_MAX : static_cast<unsigned>(star_value);
        }
        if (!take_argument(conversion, list, narrow, found)) {
            return found;
        }
    }
}

/// That add_text() takes for it.
std::size_t text_bytes(const char* text, std::size_t most) noexcept {
    std::size_t bytes = 1;
    for (; text != nullptr && bytes < most && *text != '\0'; ++text) {
        ++bytes;
    }
    return bytes;
}

}  // namespace

void SaidBytes::add(const void* bytes, std::size_t count) noexcept {
    if (count <= room()) {
        __builtin_memcpy(data_.data() + size_, bytes, count);
        size_ += count;
    }
}

void SaidBytes::add_text(const char* text, std::size_t most) noexcept {
    if (room() == 0) {
        return;
    }
    for (; text != nullptr && most > 1 && room() > 1 && *text != '\0'; ++text, --most) {
        data_[size_++] = static_cast<std::byte>(*text);
    }
    data_[size_++] = std::byte{0};
}

void add_values(SaidBytes& said, std::span<const sample_trace_value> values) noexcept {
    constexpr std::size_t kMostKey = 64;
    constexpr std::size_t kMostValue = 160;
    for (const sample_trace_value& value : values) {
        const auto kind = static_cast<NoteKind>(value.kind);
        const std::size_t needed =
            1 + text_bytes(value.key, kMostKey) +
            (kind == NoteKind::text ? text_bytes(value.as.text, kMostValue) : sizeof value.as);
        if (said.room() < needed) {
            return;
        }
        said.add(&kind, 1);
        said.add_text(value.key, kMostKey);
        if (kind == NoteKind::text) {
            said.add_text(value.as.text, kMostValue);
        } else {
            said.add(&value.as, sizeof value.as);
        }
    }
}

void add_arguments(SaidBytes& said, const char* format, std::va_list arguments) noexcept {
    std::va_list list;
    va_copy(list, arguments);
    Narrow narrow;
    const Arguments found = take_arguments(format, list, narrow);
    va_end(list);
    const auto count = static_cast<std::uint8_t>(found.count);
    said.add(&count, 1);
    said.add(found.kinds.data(), found.count);
    std::size_t behind = 0;
    for (std::size_t i = 0; i < found.count; ++i) {
        behind += (found.kinds[i] & kText) == kText ? 1 : found.kinds[i] & 0x3fU;
    }
    for (std::size_t i = 0; i < found.count; ++i) {
        if ((found.kinds[i] & kText) == kText) {
            --behind;
            said.add_text(reinterpret_cast<const char*>(found.values[i]),
                          std::min(found.most[i], said.room() - behind));
        } else {
            const std::size_t bytes = found.kinds[i] & 0x3fU;
            behind -= bytes;
            said.add(&found.values[i], bytes);
        }
    }
}

}  // namespace sample::instrument
