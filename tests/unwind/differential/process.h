// What one process has mapped, as the kernel told it, and our walk of its stacks.
#pragma once

#include "tests/unwind/differential/images.h"
#include "unwind/walk/walk.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sample::unwind::differential {

/// An address in a file.
struct CodePlace {
    const Image* image = nullptr;  ///< Null: no file is mapped there.
    std::uint64_t address = 0;     ///< ELF virtual address; as it ran, if there is no image.
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const CodePlace&) const = default;
};

/// Copies share nothing but images: a forked child starts as a copy.
class Process {
public:
    /// Forgets what lay there before.
    void map(const Image& image, std::uint64_t bias);
    /// Code without a file: made at run time.
    void map_anonymous(AddressRange code);
    void clear();

    /// Sorted, with a generation that no other table of this program has.
    [[nodiscard]] const ModuleTable& modules();
    /// Changes whenever `modules()` would.
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

    /// Whether code is, or was, mapped at `address`.
    [[nodiscard]] bool is_code(std::uint64_t address) const noexcept;
    [[nodiscard]] CodePlace place_of(std::uint64_t address) const noexcept;
    /// `size` bytes of code or tables, from the files; null where no file is mapped.
    [[nodiscard]] const std::byte* bytes_at(std::uint64_t address, std::size_t size) const noexcept;

private:
    struct Loaded {
        const Image* image;
        std::uint64_t bias;
        Module module;
    };

    [[nodiscard]] const Loaded* loaded_at(std::uint64_t address) const noexcept;
    void renew();

    std::vector<Loaded> loaded_;           ///< By address, without overlaps.
    std::vector<AddressRange> anonymous_;  ///< Each once.
    std::vector<Module> storage_;
    std::optional<ModuleTable> table_;
    std::uint64_t generation_ = 0;
};

}  // namespace sample::unwind::differential
