// A copy of the parts of a program's memory that one walk reads, laid out as they lie in the
// program, so that one StackMemory::recorded() covers them: the current stack, and behind a signal
// frame the interrupted one. What lies between them is not copied and reads as zero or as an older
// copy, where a real reader would fail.
#pragma once

#include "core/result.h"
#include "tests/unwind/truth/tracee.h"
#include "unwind/walk/stack_memory.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::unwind::truth {

class StackCopy {
public:
    StackCopy() = default;
    StackCopy(const StackCopy&) = delete;
    StackCopy& operator=(const StackCopy&) = delete;
    ~StackCopy();

    /// Copies `ranges`, at least one. Errors: system, if they span more than can be reserved;
    /// corrupt, if one cannot be read.
    [[nodiscard]] Result<void> take(const Tracee& tracee, std::span<const AddressRange> ranges);

    /// The aligned or unaligned word at `address`; false outside of what was copied.
    [[nodiscard]] bool word(std::uint64_t address, std::uint64_t& value) const noexcept;

    /// From the lowest range's beginning to the highest one's end. Valid until the next take().
    [[nodiscard]] StackMemory memory() const noexcept;

private:
    [[nodiscard]] Result<void> reserve(std::uint64_t begin, std::uint64_t end);
    [[nodiscard]] std::byte* at(std::uint64_t address) const noexcept {
        return base_ + (address - begin_);
    }

    std::byte* base_ = nullptr;
    std::uint64_t begin_ = 0;  ///< Of the reserved addresses.
    std::uint64_t end_ = 0;
    AddressRange used_;
    std::vector<AddressRange> ranges_;
};

}  // namespace sample::unwind::truth
