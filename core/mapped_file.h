// A whole file mapped read-only.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sample {

/// Owns a private read-only mapping. An empty file is an empty span. Somebody may cut the file off
/// while it is mapped: read it inside a MappedReading.
class MappedFile {
public:
    [[nodiscard]] static Result<MappedFile> open(const std::string& path);

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {bytes_.get(), bytes_ ? bytes_.get_deleter().size : 0};
    }

private:
    struct Unmap {
        std::size_t size;
        void operator()(const std::byte* bytes) const noexcept;
    };
    std::unique_ptr<const std::byte, Unmap> bytes_;
};

}  // namespace sample
