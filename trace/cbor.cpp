#include "trace/cbor.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

namespace sample::trace {
namespace {

enum class Major : std::uint8_t { positive, negative, bytes, text, array, map, tag, simple };

constexpr unsigned kMajorShift = 5;
constexpr std::uint8_t kLowBits = 0x1f;
constexpr std::uint8_t kDirect = 23;      ///< Up to this the low bits are the number itself.
constexpr std::uint8_t kFirstSized = 24;  ///< Then 1, 2, 4 and 8 bytes follow.
constexpr std::uint8_t kIndefinite = 31;
constexpr std::uint8_t kBreak = 0xff;
constexpr std::uint8_t kTrue = 21;
constexpr std::uint8_t kHalf = 25;
constexpr std::uint8_t kFloat = 26;
constexpr std::uint8_t kDouble = 27;

constexpr int kMostDeep = 16;

class Writer {
public:
    void head(Major major, std::uint64_t number) {
        const unsigned type = static_cast<unsigned>(major) << kMajorShift;
        if (number <= kDirect) {
            byte(type | number);
            return;
        }
        const unsigned size_log2 = number <= 0xff      ? 0
                                   : number <= 0xffff  ? 1
                                   : number >> 32 == 0 ? 2
                                                       : 3;
        byte(type | (kFirstSized + size_log2));
        big_endian(number, 1U << size_log2);
    }
    void text(std::string_view text) {
        head(Major::text, text.size());
        out.insert(out.end(), text.begin(), text.end());
    }
    void value(std::int64_t number) {
        const auto bits = static_cast<std::uint64_t>(number);
        head(number < 0 ? Major::negative : Major::positive, number < 0 ? ~bits : bits);
    }
    void value(double number) {
        byte(static_cast<unsigned>(Major::simple) << kMajorShift | kDouble);
        big_endian(std::bit_cast<std::uint64_t>(number), sizeof number);
    }
    void value(const std::string& words) { text(words); }

    std::vector<std::uint8_t> out;

private:
    void byte(std::uint64_t value) { out.push_back(static_cast<std::uint8_t>(value)); }
    void big_endian(std::uint64_t number, std::size_t size) {
        while (size-- > 0) {
            byte(number >> (8 * size));
        }
    }
};

/// RFC 8949, appendix D.
double from_half(std::uint64_t bits) {
    constexpr unsigned kFractionBits = 10;
    constexpr unsigned kMostExponent = 0x1f;
    const auto fraction = static_cast<double>(bits & 0x3ff);
    const auto exponent = static_cast<unsigned>(bits >> kFractionBits & kMostExponent);
    const double size = exponent == 0 ? std::ldexp(fraction, -24)
                        : exponent != kMostExponent
                            ? std::ldexp(fraction + 1024, static_cast<int>(exponent) - 25)
                        : fraction == 0 ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000) != 0 ? -size : size;
}

/// Reads one item with all that is in it, as a flat list of values.
class Reader {
public:
    explicit Reader(std::span<const std::byte> cbor) : rest_{cbor} {}

    bool item(int depth = 0) {
        if (depth > kMostDeep || rest_.empty()) {
            return false;
        }
        const std::uint8_t first = take_byte();
        const auto major = static_cast<Major>(first >> kMajorShift);
        const std::uint8_t low = first & kLowBits;
        std::uint64_t number = low;
        if (low > kDirect && low < kFirstSized + 4) {
            const std::size_t size = std::size_t{1} << (low - kFirstSized);
            if (!big_endian(size, number)) {
                return false;
            }
        } else if (low != kIndefinite && low > kDirect) {
            return false;
        }
        const bool is_indefinite = low == kIndefinite;
        switch (major) {
            case Major::positive:
                return !is_indefinite && add(static_cast<std::int64_t>(number));
            case Major::negative:
                return !is_indefinite && add(static_cast<std::int64_t>(~number));
            case Major::bytes:
            case Major::text:
                return !is_indefinite && text(number, major == Major::text);
            case Major::array:
            case Major::map:
                is_list_ = is_list_ || depth == 0;
                is_map_ = is_map_ || (depth == 0 && major == Major::map);
                return members(number, is_indefinite, major == Major::map, depth);
            case Major::tag:
                return !is_indefinite && item(depth + 1);
            case Major::simple:
                break;
        }
        return !is_indefinite && simple(low, number);
    }
    [[nodiscard]] bool is_array() const { return is_list_ && !is_map_; }
    std::vector<NamedValue> values;

private:
    std::uint8_t take_byte() {
        const auto byte = std::to_integer<std::uint8_t>(rest_.front());
        rest_ = rest_.subspan(1);
        return byte;
    }
    bool big_endian(std::size_t size, std::uint64_t& number) {
        if (rest_.size() < size) {
            return false;
        }
        number = 0;
        while (size-- > 0) {
            number = number << 8 | take_byte();
        }
        return true;
    }
    bool take_text(std::uint64_t size, std::string& out) {
        if (size > rest_.size()) {
            return false;
        }
        out.assign(reinterpret_cast<const char*>(rest_.data()), size);
        rest_ = rest_.subspan(size);
        return true;
    }
    bool text(std::uint64_t size, bool is_text) {
        std::string words;
        return take_text(size, words) && add(is_text ? std::move(words) : std::string{});
    }
    /// What a value of a map is called comes before it.
    bool key() {
        const std::size_t before = values.size();
        if (!item(kMostDeep)) {
            return false;
        }
        if (values.size() != before + 1) {
            return false;
        }
        const auto& value = values.back().value;
        const auto* const words = std::get_if<std::string>(&value);
        const auto* const number = std::get_if<std::int64_t>(&value);
        name_ = words != nullptr ? *words : number != nullptr ? std::to_string(*number) : "";
        values.pop_back();
        return true;
    }
    bool members(std::uint64_t count, bool is_indefinite, bool is_map, int depth) {
        for (std::uint64_t i = 0; is_indefinite || i < count; ++i) {
            if (rest_.empty()) {
                return false;
            }
            if (is_indefinite && rest_.front() == std::byte{kBreak}) {
                take_byte();
                return true;
            }
            if ((is_map && !key()) || !item(depth + 1)) {
                return false;
            }
        }
        return true;
    }
    bool simple(std::uint8_t low, std::uint64_t bits) {
        switch (low) {
            case kHalf:
                return add(from_half(bits));
            case kFloat:
                return add(double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
            case kDouble:
                return add(std::bit_cast<double>(bits));
            case kTrue:
            case kTrue - 1:
                return add(std::int64_t{low == kTrue});
            default:
                return add(std::string{});
        }
    }
    template <class Value>
    bool add(Value value) {
        values.push_back(NamedValue{std::exchange(name_, {}), std::move(value)});
        return true;
    }

    std::span<const std::byte> rest_;
    std::string name_;
    bool is_list_ = false;
    bool is_map_ = false;
};

}  // namespace

std::vector<std::uint8_t> cbor_from_values(std::span<const NamedValue> values) {
    Writer writer;
    writer.head(Major::map, values.size());
    for (const NamedValue& one : values) {
        writer.text(one.name);
        std::visit([&writer](const auto& value) { writer.value(value); }, one.value);
    }
    return std::move(writer.out);
}

std::vector<std::uint8_t> cbor_from_names(std::span<const NamedValue> values) {
    Writer writer;
    writer.head(Major::array, values.size());
    for (const NamedValue& one : values) {
        writer.text(one.name);
    }
    return std::move(writer.out);
}

std::optional<std::vector<NamedValue>> values_from_cbor(std::span<const std::byte> cbor,
                                                        std::span<const std::string> names) {
    Reader reader{cbor};
    if (!reader.item()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < reader.values.size(); ++i) {
        if (std::string& name = reader.values[i].name; name.empty()) {
            name = i < names.size() ? names[i] : std::to_string(i);
        }
    }
    return std::move(reader.values);
}

std::vector<std::string> names_from_cbor(std::span<const std::byte> cbor) {
    Reader reader{cbor};
    std::vector<std::string> names;
    if (reader.item() && reader.is_array()) {
        for (NamedValue& one : reader.values) {
            if (auto* const name = std::get_if<std::string>(&one.value)) {
                names.push_back(std::move(*name));
            }
        }
    }
    return names;
}

}  // namespace sample::trace
