// Copying stacks; the contracts are in the header.
#include "tests/unwind/truth/stack_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace sample::unwind::truth {

namespace {

constexpr std::uint64_t kGranularity = std::uint64_t{1} << 24;

}  // namespace

StackCopy::~StackCopy() {
    if (base_ != nullptr) {
        munmap(base_, end_ - begin_);
    }
}

Result<void> StackCopy::reserve(std::uint64_t begin, std::uint64_t end) {
    if (begin >= begin_ && end <= end_) {
        return {};
    }
    if (base_ != nullptr) {
        munmap(base_, end_ - begin_);
        base_ = nullptr;
    }
    begin_ = begin / kGranularity * kGranularity;
    end_ = (end + kGranularity - 1) / kGranularity * kGranularity;
    void* mapped = mmap(nullptr, end_ - begin_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        end_ = begin_;
        return unexpected(Error::from_errno("cannot reserve room for the stacks' copies"));
    }
    base_ = static_cast<std::byte*>(mapped);
    return {};
}

Result<void> StackCopy::take(const Tracee& tracee, std::span<const AddressRange> ranges) {
    used_ = ranges.front();
    for (const AddressRange& range : ranges) {
        used_.begin = std::min(used_.begin, range.begin);
        used_.end = std::max(used_.end, range.end);
    }
    if (auto reserved = reserve(used_.begin, used_.end); !reserved) {
        return reserved;
    }
    ranges_.assign(ranges.begin(), ranges.end());
    for (const AddressRange& range : ranges) {
        if (!tracee.read(range.begin, {at(range.begin), range.end - range.begin})) {
            return unexpected(ErrorCode::corrupt, "cannot read the program's stack");
        }
    }
    return {};
}

bool StackCopy::word(std::uint64_t address, std::uint64_t& value) const noexcept {
    const bool copied =
        std::any_of(ranges_.begin(), ranges_.end(), [address](const AddressRange& range) {
            return address >= range.begin && address + sizeof(value) <= range.end;
        });
    if (copied) {
        std::memcpy(&value, at(address), sizeof(value));
    }
    return copied;
}

StackMemory StackCopy::memory() const noexcept {
    return StackMemory::recorded(used_.begin, {at(used_.begin), used_.end - used_.begin});
}

}  // namespace sample::unwind::truth
