// Hand-assembled unwind tables: one CIE, any number of FDEs, and the .eh_frame_hdr that finds them,
// in one buffer. The code that they describe begins at pc(0); nothing is there, it is never read.
#pragma once

#include "unwind/cfi/fde.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sample::unwind::testing {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

/// Little-endian bytes of `value`.
template <class T>
Bytes le(T value) {
    Bytes bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

class CfiBuilder {
public:
    static constexpr std::size_t kCodeOffset = 0x10000;

    // What the CIE says; to be changed before the first fde().
    std::uint8_t version = 1;
    std::string augmentation = "zR";
    Bytes augmentation_data{0x1b};
    Bytes alignment{1, 0x78};  ///< Code 1, data -8.
    Bytes return_column{16};
    Bytes initial{0x0c, 7, 8, 0x90, 1};  ///< def_cfa rsp+8; offset ra -8.

    /// Adds an FDE for code [begin, begin + size). FDEs come in ascending order.
    CfiBuilder& fde(std::int32_t begin, std::uint32_t size, const Bytes& program) {
        if (position_ == kFrames) {
            put_entry(le<std::uint32_t>(0) + Bytes{version} + text(augmentation) + alignment +
                      return_column + data(augmentation_data) + initial);
        }
        const std::uint64_t entry = position_;
        const auto back = static_cast<std::uint32_t>(position_ + 4 - kFrames);
        const auto pc_field = static_cast<std::int32_t>(position_ + 8);
        const auto code = static_cast<std::int32_t>(kCodeOffset) + begin;
        put_entry(le(back) + le(code - pc_field) + le(size) + (has_data() ? Bytes{0} : Bytes{}) +
                  program);
        index_.emplace_back(code, static_cast<std::int32_t>(entry));
        return *this;
    }

    /// Writes the search table and gives the bounds of all.
    [[nodiscard]] cfi::Tables tables() {
        Bytes header{1, 0x1b, 0x03, 0x3b};
        header = header + le(static_cast<std::int32_t>(kFrames - 4)) +
                 le(static_cast<std::uint32_t>(index_.size()));
        for (const auto& [code, fde] : index_) {
            header = header + le(code) + le(fde);
        }
        std::memcpy(buffer_.data(), header.data(), header.size());
        return cfi::Tables{base(), header.size(), base(), base() + buffer_.size()};
    }

    [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const {
        return base() + kCodeOffset + offset;
    }
    [[nodiscard]] std::uint8_t* bytes() { return buffer_.data(); }
    [[nodiscard]] std::uint64_t base() const {
        return reinterpret_cast<std::uint64_t>(buffer_.data());
    }
    static constexpr std::size_t kFrames = 1024;                 ///< Where the CIE is.
    [[nodiscard]] std::size_t end() const { return position_; }  ///< Of the last FDE.

private:
    [[nodiscard]] bool has_data() const { return !augmentation.empty() && augmentation[0] == 'z'; }
    [[nodiscard]] Bytes data(const Bytes& content) const {
        return has_data() ? Bytes{static_cast<std::uint8_t>(content.size())} + content : Bytes{};
    }
    static Bytes text(const std::string& characters) {
        return Bytes(characters.begin(), characters.end()) + Bytes{0};
    }
    void put_entry(const Bytes& body) {
        const Bytes entry = le(static_cast<std::uint32_t>(body.size())) + body;
        std::memcpy(buffer_.data() + position_, entry.data(), entry.size());
        position_ += entry.size();
    }

    std::array<std::uint8_t, 8192> buffer_{};
    std::size_t position_ = kFrames;
    std::vector<std::pair<std::int32_t, std::int32_t>> index_;
};

}  // namespace sample::unwind::testing
