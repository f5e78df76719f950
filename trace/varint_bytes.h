// Varints and pieces, which are a length and its bytes, in byte vectors and spans.
#pragma once

#include "core/varint.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

inline void append_varint(std::vector<std::byte>& out, std::uint64_t value) {
    const std::size_t size = out.size();
    out.resize(size + kMaxVarintBytes);
    out.resize(size + write_varint(&out[size], value));
}

inline void append_piece(std::vector<std::byte>& out, std::string_view text) {
    append_varint(out, text.size());
    const auto bytes = std::as_bytes(std::span{text});
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Takes varints off the front of a span. After the first that does not parse, all are 0 and ok()
/// is false.
class VarintReader {
public:
    explicit VarintReader(std::span<const std::byte> bytes) noexcept : rest_{bytes} {}

    std::uint64_t next() noexcept {
        std::uint64_t value = 0;
        const std::size_t size = read_varint(rest_.data(), rest_.data() + rest_.size(), value);
        if (size == 0 || !ok_) {
            ok_ = false;
            return 0;
        }
        rest_ = rest_.subspan(size);
        return value;
    }
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }

private:
    std::span<const std::byte> rest_;
    bool ok_ = true;
};

/// Takes pieces off the front of a span. After the first that is not there, all are empty and ok()
/// is false.
class PieceReader {
public:
    explicit PieceReader(std::span<const std::byte> bytes) : varints_{bytes} {}

    std::uint64_t number() { return varints_.next(); }
    std::span<const std::byte> bytes(std::uint64_t size) {
        const std::span<const std::byte> rest = varints_.rest();
        if (!ok() || size > rest.size()) {
            ok_ = false;
            return {};
        }
        varints_ = VarintReader{rest.subspan(size)};
        return rest.first(size);
    }
    std::string text() {
        const std::span<const std::byte> found = bytes(number());
        return {static_cast<const char*>(static_cast<const void*>(found.data())), found.size()};
    }
    [[nodiscard]] std::span<const std::byte> rest() const { return varints_.rest(); }
    [[nodiscard]] bool ok() const { return ok_ && varints_.ok(); }

private:
    VarintReader varints_;
    bool ok_ = true;
};

}  // namespace sample::trace
