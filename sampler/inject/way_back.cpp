#include "sampler/inject/way_back.h"

#include "sampler/inject/remote_code.h"

#include <cpuid.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <vector>

namespace sample::inject {
namespace {

constexpr std::uint64_t kUsedBelowStack = 128;  // the psABI's red zone
constexpr std::uint64_t kStateAlignment = 64;   // XRSTOR's
constexpr std::uint64_t kFrameAlignment = 16;

// Source: Intel SDM 1, chapter 13.4, "XSAVE area".
constexpr std::size_t kLegacyBytes = 512;
constexpr std::size_t kForSoftwareAt = 464;
constexpr std::size_t kHeaderBytes = 64;
constexpr std::uint64_t kX87AndSse = 3;
constexpr unsigned kStateLeaf = 0xd;

// Source: Linux arch/x86/include/uapi/asm/ucontext.h.
constexpr unsigned long kHasExtendedState = 1;
constexpr unsigned long kHasStackSegment = 6;
/// No mode of an alternate stack, so that the kernel leaves the thread the one that it has.
constexpr int kNoSuchMode = 7;

/// Source: Linux arch/x86/include/asm/sigframe.h, rt_sigframe.
struct Frame {
    std::uint64_t return_address;
    ucontext_t context;
};

/// The parts of the state that are in use, and what lets the kernel see how long it is.
std::vector<std::byte> vector_state_of(pid_t tid) {
    std::vector<std::byte> state(kMostStateBytes);
    iovec all{state.data(), state.size()};
    if (::syscall(SYS_ptrace, PTRACE_GETREGSET, tid, NT_X86_XSTATE, &all) != 0 ||
        all.iov_len < kLegacyBytes + kHeaderBytes) {
        return {};
    }
    _fpx_sw_bytes seen{};
    std::memcpy(&seen.xstate_bv, &state[kLegacyBytes], sizeof seen.xstate_bv);
    seen.xstate_bv |= kX87AndSse;
    std::size_t end = kLegacyBytes + kHeaderBytes;
    for (unsigned part = 2; part < 64; ++part) {
        unsigned bytes = 0;
        unsigned offset = 0;
        unsigned c = 0;
        unsigned d = 0;
        if ((seen.xstate_bv >> part & 1U) != 0 &&
            __get_cpuid_count(kStateLeaf, part, &bytes, &offset, &c, &d) != 0) {
            end = std::max(end, std::size_t{offset} + bytes);
        }
    }
    const std::uint32_t behind = FP_XSTATE_MAGIC2;
    if (end > all.iov_len || end + sizeof behind > state.size()) {
        return {};
    }
    seen.magic1 = FP_XSTATE_MAGIC1;
    seen.xstate_size = static_cast<std::uint32_t>(end);
    seen.extended_size = seen.xstate_size + sizeof behind;
    std::memcpy(&state[kForSoftwareAt], &seen, sizeof seen);
    std::memcpy(&state[end], &behind, sizeof behind);
    state.resize(end + sizeof behind);
    return state;
}

void set(gregset_t& general, const user_regs_struct& from) {
    const auto put = [&general](int which, unsigned long long value) {
        general[which] = static_cast<greg_t>(value);
    };
    put(REG_R8, from.r8);
    put(REG_R9, from.r9);
    put(REG_R10, from.r10);
    put(REG_R11, from.r11);
    put(REG_R12, from.r12);
    put(REG_R13, from.r13);
    put(REG_R14, from.r14);
    put(REG_R15, from.r15);
    put(REG_RDI, from.rdi);
    put(REG_RSI, from.rsi);
    put(REG_RBP, from.rbp);
    put(REG_RBX, from.rbx);
    put(REG_RDX, from.rdx);
    put(REG_RAX, from.rax);
    put(REG_RCX, from.rcx);
    put(REG_RSP, from.rsp);
    put(REG_RIP, from.rip);
    put(REG_EFL, from.eflags);
    put(REG_CSGSFS, from.cs | from.ss << 48U);
}

}  // namespace

Result<std::uint64_t> leave_way_back(pid_t tid, const user_regs_struct& registers,
                                     std::uint64_t signal_mask, std::uint64_t signal_return) {
    const std::vector<std::byte> state = vector_state_of(tid);
    if (state.empty()) {
        return unexpected(ErrorCode::unsupported, "its vector registers cannot be read");
    }
    const std::uint64_t state_at =
        (registers.rsp - kUsedBelowStack - state.size()) & ~(kStateAlignment - 1);
    const std::uint64_t frame_at = (state_at - sizeof(Frame)) & ~(kFrameAlignment - 1);
    Frame frame{};
    frame.return_address = signal_return;
    frame.context.uc_flags = kHasExtendedState | kHasStackSegment;
    frame.context.uc_stack.ss_flags = kNoSuchMode;
    set(frame.context.uc_mcontext.gregs, registers);
    frame.context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(state_at);
    std::memcpy(&frame.context.uc_sigmask, &signal_mask, sizeof signal_mask);
    std::vector<std::byte> bytes(state_at - frame_at + state.size());
    std::memcpy(bytes.data(), &frame, sizeof frame);
    std::copy(state.begin(), state.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(state_at - frame_at));
    const iovec from{bytes.data(), bytes.size()};
    const iovec to{reinterpret_cast<void*>(frame_at), bytes.size()};
    // Unlike /proc/PID/mem this does not write where the process may not.
    const ssize_t written = ::process_vm_writev(tid, &from, 1, &to, 1, 0);
    if (written < 0 && errno != EFAULT) {
        return unexpected(ErrorCode::unsupported, "its stack cannot be written to");
    }
    if (written != static_cast<ssize_t>(bytes.size())) {
        return unexpected(ErrorCode::unsupported, "its stack has no room");
    }
    return frame_at;
}

}  // namespace sample::inject
