#include "sampler/capture/inherited_state.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/thread_slots.h"
#include "unwind/walk/stack_memory.h"

#include <asm/prctl.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace sample::capture {
namespace {

enum class Base : std::uint8_t { by_call, by_instruction, believed };

constinit std::atomic<Base> g_base{Base::by_call};

/// Bases that were found to be libc's, each in the place that its bits choose.
constexpr unsigned kKnownBits = 9;
constinit std::array<std::atomic<std::uint64_t>, std::size_t{1} << kKnownBits> g_known{};

/// Of whatever FS leads to; 0 if it is not told.
std::uint64_t thread_base(bool by_instruction) noexcept {
    std::uint64_t base = 0;
    if (by_instruction) {
        asm volatile("rdfsbase %0" : "=r"(base));
    } else if (is_failure(raw_syscall(SYS_arch_prctl, ARCH_GET_FS, as_argument(&base)))) {
        return 0;
    }
    return base;
}

std::atomic<std::uint64_t>& place_of(std::uint64_t base) noexcept {
    return g_known[(base >> 6U) * 0x9e3779b97f4a7c15U >> (64U - kKnownBits)];
}

/// From a base to our part of the storage, which lies below it. Not by the address of t_thread,
/// which is reckoned from a word in the block.
std::int64_t offset_of_own_part() noexcept {
    std::int64_t offset = 0;
    asm("movq _ZN6sample7capture8t_threadE@gottpoff(%%rip), %0" : "=r"(offset));
    return offset;
}

/// libc's thread control block points at itself, twice. What a bare clone was given in its place
/// may have nothing below it. Another libc's block, which programs that load programs bring along,
/// does so as well, and once more behind that.
/// Source: glibc sysdeps/x86_64/nptl/tls.h, tcbhead_t; musl src/internal/pthread_impl.h.
bool is_libcs_block(std::uint64_t base) noexcept {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(base);
    return words[0] == base && words[2] == base && words[3] != base;
}

/// Aligned as a block is, so that its words lie on one page.
bool is_readable(std::uint64_t base) noexcept {
    constexpr std::uint64_t kBlockAlignment = 32;
    const std::uint64_t own = base + static_cast<std::uint64_t>(offset_of_own_part());
    return base % kBlockAlignment == 0 && unwind::readable_page(base) &&
           unwind::readable_page(own) && unwind::readable_page(own + sizeof(ThreadLocal) - 1);
}

std::uint64_t believed_base() noexcept {
    std::uint64_t base = 0;
    asm volatile("movq %%fs:0, %0" : "=r"(base));
    return base;
}

}  // namespace

bool has_thread_locals() noexcept {
    const Base how = g_base.load(std::memory_order_relaxed);
    if (how == Base::believed) {
        const std::uint64_t base = believed_base();
        return base != 0 && is_libcs_block(base);
    }
    const std::uint64_t base = thread_base(how == Base::by_instruction);
    std::atomic<std::uint64_t>& known = place_of(base);
    if (base == 0 || (known.load(std::memory_order_relaxed) != base && !is_readable(base)) ||
        !is_libcs_block(base)) {
        return false;
    }
    known.store(base, std::memory_order_relaxed);
    return true;
}

void read_thread_base_by_instruction() noexcept {
    g_base.store(Base::by_instruction, std::memory_order_relaxed);
}

void believe_thread_base() noexcept {
    Base by_call = Base::by_call;
    g_base.compare_exchange_strong(by_call, Base::believed, std::memory_order_relaxed);
}

}  // namespace sample::capture
