// Reads outside of a stack's verified bounds; the contract is in the header.
#include "unwind/walk/stack_memory.h"

#include "unwind/arch/native.h"

#include <cerrno>

namespace sample::unwind {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kUnreadable = 1;

}  // namespace

bool readable_page(std::uint64_t address) noexcept {
    return arch::Native::rt_sigprocmask(~0L, address & ~(kPage - 1)) == -EINVAL;
}

bool StackMemory::read_outside(std::uint64_t address, std::uint64_t& value) noexcept {
    if (!is_readable_outside(address)) {
        return false;
    }
    value = load(address);
    return true;
}

bool StackMemory::is_readable_outside(std::uint64_t address) noexcept {
    if (outside_ == Outside::fail || (address & 7) != 0 || address < kPage ||
        address >= arch::Native::kUserEnd) {
        return false;
    }
    // An aligned word lies in one page.
    if (address >= window_low_ && address < window_high_) {
        return true;
    }
    const std::uint64_t page = address & ~(kPage - 1);
    for (const std::uint64_t known : pages_) {
        if ((known & ~kUnreadable) == page) {
            return known == page;
        }
    }
    if (probes_ == kMaxProbes) {
        return false;
    }
    const bool is_readable = readable_page(address);
    pages_[probes_++ % pages_.size()] = is_readable ? page : page | kUnreadable;
    if (!is_readable) {
        return false;
    }
    if (page == window_high_) {
        window_high_ = page + kPage;
    } else if (page + kPage == window_low_) {
        window_low_ = page;
    } else {
        window_low_ = page;
        window_high_ = page + kPage;
    }
    return true;
}

bool StackMemory::can_read_beside(std::uint64_t address) noexcept {
    if (outside_ == Outside::fail) {
        return true;
    }
    const std::uint64_t page = address & ~(kPage - 1);
    for (const std::uint64_t known : beside_) {
        if ((known & ~kUnreadable) == page) {
            return known == page;
        }
    }
    const bool is_readable = readable_page(page);
    beside_[asked_beside_++ % beside_.size()] = is_readable ? page : page | kUnreadable;
    return is_readable;
}

}  // namespace sample::unwind
