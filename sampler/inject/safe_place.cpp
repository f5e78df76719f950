#include "sampler/inject/safe_place.h"

#include "core/file_rights.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "sampler/collector/process/proc_files.h"
#include "unwind/walk/walk.h"

#include <elf.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>

namespace sample::inject {
namespace {

using attach::CodeImage;

constexpr std::size_t kRedZone = 128;
/// So much of a stack is read, and more where it is longer: the thread stands still meanwhile.
constexpr std::array kStackBytes{std::size_t{8} << 10U, std::size_t{256} << 10U};
constexpr std::size_t kMostFrames = 1024;
/// Of _start, where a program begins. Source: System V x86-64 psABI 3.4.1; glibc
/// sysdeps/x86_64/start.S.
constexpr std::uint64_t kMostStartBytes = 64;

/// Without what they need an argument for.
constexpr std::array<long, 18> kWaits{
    SYS_read,          SYS_poll,        SYS_ppoll,          SYS_select,    SYS_pselect6,
    SYS_epoll_wait,    SYS_epoll_pwait, SYS_epoll_pwait2,   SYS_nanosleep, SYS_clock_nanosleep,
    SYS_pause,         SYS_accept,      SYS_accept4,        SYS_recvfrom,  SYS_recvmsg,
    SYS_rt_sigsuspend, SYS_wait4,       SYS_rt_sigtimedwait};

/// Calls that libc makes in a function of its own that does nothing else: behind one a thread holds
/// no lock of libc's.
constexpr std::array<long, 18> kMadeAlone{
    SYS_read,   SYS_write,   SYS_pread64, SYS_pwrite64, SYS_readv,      SYS_writev,
    SYS_openat, SYS_close,   SYS_lseek,   SYS_access,   SYS_newfstatat, SYS_recvfrom,
    SYS_sendto, SYS_recvmsg, SYS_sendmsg, SYS_poll,     SYS_epoll_wait, SYS_sched_yield};

/// 0: it can't be read.
std::uint64_t word_at(int memory, std::uint64_t address) {
    std::uint64_t word = 0;
    return ::pread(memory, &word, sizeof word, static_cast<off_t>(address)) == sizeof word ? word
                                                                                           : 0;
}

unwind::Registers for_walk(const user_regs_struct& from) {
    unwind::Registers registers;
    registers.value = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi,
                       from.rbp, from.rsp, from.r8,  from.r9,  from.r10, from.r11,
                       from.r12, from.r13, from.r14, from.r15, from.rip};
    return registers;
}

bool may_have_malloc(pid_t pid, const collector::Mapping& mapping) {
    Fd file = collector::open_map_file(pid, mapping);
    if (!file.is_open()) {
        file = open_regular(mapping.path);
    }
    return !file.is_open() ||
           collector::may_define("/proc/self/fd/" + std::to_string(file.get()), "malloc");
}

}  // namespace

bool waits_for_no_lock(long call, std::uint64_t second_argument) noexcept {
    if (call == SYS_futex) {
        return (static_cast<int>(second_argument) & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    }
    return call == SYS_waitid || std::find(kWaits.begin(), kWaits.end(), call) != kWaits.end();
}

SafePlaces::SafePlaces(pid_t pid, int memory, std::uint64_t libc)
    : memory_{memory},
      entry_{collector::auxiliary_value(pid, AT_ENTRY).value_or(0)},
      storage_{std::make_unique<std::array<unwind::RowCache::Entry, kRows>>()},
      rows_{*storage_},
      stack_(kStackBytes.back()) {
    const ActingAs its_user{lesser_rights_in(collector::status_of(pid), nullptr)};
    for (const collector::Mapping& mapping : collector::mappings_of(pid)) {
        const auto image = mapping.executable ? images_.find(pid, mapping) : nullptr;
        const auto bias = image == nullptr
                              ? std::nullopt
                              : image->facts.bias_of_mapping(mapping.start, mapping.offset);
        if (!bias) {
            continue;
        }
        code_.add(image, *bias);
        const bool is_libc = libc >= mapping.start && libc < mapping.end;
        if (is_libc) {
            libc_ = image.get();
        } else if (image->is_vdso || file_name(image->path).starts_with("ld-") ||
                   may_have_malloc(pid, mapping)) {
            avoided_.insert(image.get());
        }
    }
}

bool SafePlaces::has_libcs_thread_register(const user_regs_struct& registers) const {
    constexpr std::uint64_t kSelfAt = 16;  // Source: glibc sysdeps/x86_64/nptl/tls.h, tcbhead_t
    return registers.fs_base != 0 &&
           word_at(memory_, registers.fs_base + kSelfAt) == registers.fs_base;
}

std::vector<std::uint64_t> SafePlaces::stack_of(const user_regs_struct& registers) {
    const std::uint64_t low = registers.rsp - kRedZone;
    std::vector<FrameAddress> frames(kMostFrames);
    unwind::WalkResult result;
    for (const std::size_t bytes : kStackBytes) {
        const ssize_t got = ::pread(memory_, stack_.data(), bytes, static_cast<off_t>(low));
        if (got <= 0) {
            return {};
        }
        unwind::StackMemory memory = unwind::StackMemory::recorded(
            low, std::span<const std::byte>{stack_}.first(static_cast<std::size_t>(got)));
        result = unwind::walk(code_.table(), rows_, for_walk(registers), memory, frames);
        if (result.reason != unwind::StopReason::unreadable_memory) {
            break;
        }
    }
    std::vector<std::uint64_t> places;
    if (result.reason == unwind::StopReason::root && result.guessed == 0) {
        for (std::size_t i = 0; i < result.depth; ++i) {
            places.push_back(frames[i].lookup_pc().value);
        }
    }
    return places;
}

const CodeImage* SafePlaces::image_at(std::uint64_t pc) const {
    const auto& loaded = code_.loaded();
    const auto found = std::find_if(loaded.begin(), loaded.end(), [pc](const auto& each) {
        return pc >= each.module.span.begin && pc < each.module.span.end;
    });
    return found == loaded.end() ? nullptr : found->image.get();
}

bool SafePlaces::is_safe(const HeldThread& thread) {
    const user_regs_struct& registers = thread.registers();
    const auto interrupted = thread.interrupted_call();
    const auto call = static_cast<long>(registers.orig_rax);
    const bool is_behind_call =
        !interrupted && std::find(kMadeAlone.begin(), kMadeAlone.end(), call) != kMadeAlone.end();
    if ((interrupted && !waits_for_no_lock(*interrupted, registers.rsi)) || libc_ == nullptr ||
        !has_libcs_thread_register(registers) || thread.is_in_restartable_sequence()) {
        return false;
    }
    std::vector<const CodeImage*> images;
    for (const std::uint64_t pc : stack_of(registers)) {
        // What starts the first thread calls libc, which calls main().
        if (pc - entry_ >= kMostStartBytes) {
            images.push_back(image_at(pc));
        }
    }
    const auto is_other = [this](const CodeImage* image) { return image != libc_; };
    auto first = images.begin();
    if (interrupted) {
        first = std::find_if(images.begin(), images.end(), is_other);
    } else if (is_behind_call && first != images.end() && *first == libc_) {
        ++first;
    }
    const auto last = std::find_if(images.rbegin(), images.rend(), is_other).base();
    return first < last && std::all_of(first, last, [this](const CodeImage* image) {
               return image != nullptr && image != libc_ && !avoided_.contains(image);
           });
}

}  // namespace sample::inject
