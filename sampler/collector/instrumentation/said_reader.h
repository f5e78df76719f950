// Takes values out of bytes that a process has written. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace sample::collector {

/// What is not there is 0 or empty, and the reader fails.
class SaidReader {
public:
    explicit SaidReader(std::span<const std::byte> bytes) : bytes_{bytes} {}

    template <class T>
    T take() {
        T value{};
        if (bytes_.size() < sizeof value) {
            fail();
            return value;
        }
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_ = bytes_.subspan(sizeof value);
        return value;
    }
    std::string_view take_text() {
        const auto end = std::find(bytes_.begin(), bytes_.end(), std::byte{0});
        if (end == bytes_.end()) {
            fail();
            return {};
        }
        const auto size = static_cast<std::size_t>(end - bytes_.begin());
        const std::string_view text{reinterpret_cast<const char*>(bytes_.data()), size};
        bytes_ = bytes_.subspan(size + 1);
        return text;
    }
    std::span<const std::byte> take_bytes(std::size_t count) {
        if (bytes_.size() < count) {
            fail();
            return {};
        }
        const auto taken = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return taken;
    }
    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] bool is_at_end() const { return bytes_.empty(); }

private:
    void fail() {
        ok_ = false;
        bytes_ = {};
    }

    std::span<const std::byte> bytes_;
    bool ok_ = true;
};

}  // namespace sample::collector
