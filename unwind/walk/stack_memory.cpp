// Reads outside of a stack's verified bounds; the contract is in the header.
#include "unwind/walk/stack_memory.h"

#include <sys/syscall.h>

#include <cerrno>

namespace sample::unwind {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47;

}  // namespace

bool readable_page(std::uint64_t address) noexcept {
    const std::uint64_t page = address & ~(kPage - 1);
    long result = SYS_rt_sigprocmask;
    register long mask_size asm("r10") = 8;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(~0L), "S"(page), "d"(0L), "r"(mask_size)
                 : "rcx", "r11", "memory");
    return result == -EINVAL;
}

bool StackMemory::read_outside(std::uint64_t address, std::uint64_t& value) noexcept {
    if (!is_readable_outside(address)) {
        return false;
    }
    value = load(address);
    return true;
}

bool StackMemory::is_readable_outside(std::uint64_t address) noexcept {
    if (outside_ == Outside::fail || (address & 7) != 0 || address < kPage || address >= kUserEnd) {
        return false;
    }
    // An aligned word lies in one page.
    if (address >= window_low_ && address < window_high_) {
        return true;
    }
    if (probes_ == kMaxProbes) {
        return false;
    }
    ++probes_;
    if (!readable_page(address)) {
        return false;
    }
    const std::uint64_t page = address & ~(kPage - 1);
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

}  // namespace sample::unwind
