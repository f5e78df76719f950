// A whole file mapped read-only, or all that comes out of a pipe.
#pragma once

#include "core/fd.h"
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
    /// What can be read from `fd` until it ends, kept in a file of memory alone, which has no name.
    /// `name` is for errors.
    [[nodiscard]] static Result<MappedFile> read_to_end(int fd, const std::string& name);

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {bytes_.get(), bytes_ ? bytes_.get_deleter().size : 0};
    }
    /// Takes no more memory for `part` of bytes(), which is there again as soon as it is read.
    void give_back(std::span<const std::byte> part) const noexcept;

private:
    static Result<MappedFile> map(const Fd& fd, const std::string& name);

    struct Unmap {
        std::size_t size;
        void operator()(const std::byte* bytes) const noexcept;
    };
    std::unique_ptr<const std::byte, Unmap> bytes_;
};

}  // namespace sample
