// A whole file mapped read-only.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <span>
#include <string>

namespace sample {

/// Owns a private read-only mapping. An empty file is an empty span. Somebody may cut the file off
/// while it is mapped: read it inside a MappedReading.
class MappedFile {
public:
    [[nodiscard]] static Result<MappedFile> open(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    explicit MappedFile(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}
    void unmap() noexcept;

    std::span<const std::byte> bytes_;
};

}  // namespace sample
