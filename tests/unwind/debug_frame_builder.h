// Hand-assembled .debug_frame sections: CIEs and FDEs of either DWARF format, in one run of bytes.
#pragma once

#include "tests/unwind/cfi_builder.h"
#include "unwind/cfi/fde.h"

#include <cstdint>

namespace sample::unwind::testing {

class DebugFrameBuilder {
public:
    // What the next cie() says.
    std::uint8_t version = 1;
    bool wide = false;  ///< The 64-bit format; of the next fde() too.
    Bytes sizes{8, 0};  ///< Of addresses and segment selectors; in version 4 alone.
    Bytes augmentation{0};
    Bytes initial{0x0c, 7, 8, 0x90, 1, 0, 0};  ///< def_cfa rsp+8; offset ra -8.

    DebugFrameBuilder& cie() {
        cie_ = bytes.size();
        put(id(~std::uint64_t{0}) + Bytes{version} + augmentation +
            (version == 4 ? sizes : Bytes{}) + Bytes{1, 0x78, 16} + initial);
        return *this;
    }
    /// An FDE of the last CIE, for code at a link-time address.
    DebugFrameBuilder& fde(std::uint64_t begin, std::uint64_t size, const Bytes& program) {
        put(id(cie_) + le(begin) + le(size) + program);
        return *this;
    }

    /// The section as it is now; `bias` makes link-time addresses those of code.
    [[nodiscard]] cfi::FrameSection section(std::uint64_t bias) const {
        const auto begin = reinterpret_cast<std::uint64_t>(bytes.data());
        return {begin, begin + bytes.size(), cfi::FrameFormat::debug_frame, bias};
    }

    Bytes bytes;

private:
    [[nodiscard]] Bytes id(std::uint64_t value) const {
        return wide ? le(value) : le(static_cast<std::uint32_t>(value));
    }
    void put(const Bytes& content) {
        const std::uint64_t length = content.size();
        bytes =
            bytes +
            (wide ? le(~std::uint32_t{0}) + le(length) : le(static_cast<std::uint32_t>(length))) +
            content;
    }

    std::uint64_t cie_ = 0;
};

}  // namespace sample::unwind::testing
