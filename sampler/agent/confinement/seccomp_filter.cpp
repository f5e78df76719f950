#include "sampler/agent/confinement/seccomp_filter.h"

#include "sampler/capture/raw_syscall.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cerrno>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

using Word = std::optional<std::uint32_t>;

/// A word of seccomp_data, as BPF_LD | BPF_W | BPF_ABS reads it.
Word load(const FilteredCall& call, std::uint32_t offset) noexcept {
    constexpr std::uint32_t kArguments = offsetof(seccomp_data, args);
    if (offset == offsetof(seccomp_data, nr)) {
        return static_cast<std::uint32_t>(call.number);
    }
    if (offset == offsetof(seccomp_data, arch)) {
        return AUDIT_ARCH_X86_64;
    }
    if (offset < kArguments || offset >= sizeof(seccomp_data) || offset % 4 != 0) {
        return std::nullopt;
    }
    const std::uint32_t index = (offset - kArguments) / 8;
    if ((call.known >> index & 1U) == 0) {
        return std::nullopt;
    }
    const auto value = static_cast<std::uint64_t>(call.arguments[index]);
    return static_cast<std::uint32_t>(offset % 8 == 0 ? value : value >> 32U);
}

/// The machine of classic BPF.
struct Machine {
    std::uint32_t a = 0;
    std::uint32_t x = 0;
    std::array<Word, BPF_MEMWORDS> memory{};
};

/// Nothing: no such operation, or, as with a division by a zero in X, the filter ends by it.
Word computed(std::uint32_t operation, std::uint32_t a, std::uint32_t b) noexcept {
    switch (operation) {
        case BPF_ADD:
            return a + b;
        case BPF_SUB:
            return a - b;
        case BPF_MUL:
            return a * b;
        case BPF_DIV:
            return b == 0 ? Word{} : a / b;
        case BPF_AND:
            return a & b;
        case BPF_OR:
            return a | b;
        case BPF_XOR:
            return a ^ b;
        case BPF_LSH:
            return a << (b & 31U);
        case BPF_RSH:
            return a >> (b & 31U);
        case BPF_NEG:
            return 0 - a;
        default:
            return std::nullopt;
    }
}

/// How many steps a jump leaves out, or nothing.
Word distance_of(const sock_filter& step, std::uint32_t a, std::uint32_t b) noexcept {
    switch (BPF_OP(step.code)) {
        case BPF_JA:
            return step.k;
        case BPF_JEQ:
            return a == b ? step.jt : step.jf;
        case BPF_JGT:
            return a > b ? step.jt : step.jf;
        case BPF_JGE:
            return a >= b ? step.jt : step.jf;
        case BPF_JSET:
            return (a & b) != 0 ? step.jt : step.jf;
        default:
            return std::nullopt;
    }
}

/// What an instruction of the classes LD and LDX loads.
Word loaded(const Machine& machine, const sock_filter& step, const FilteredCall& call) noexcept {
    switch (BPF_MODE(step.code)) {
        case BPF_ABS:
            return BPF_CLASS(step.code) == BPF_LD ? load(call, step.k) : std::nullopt;
        case BPF_IMM:
            return step.k;
        case BPF_MEM:
            return step.k < BPF_MEMWORDS ? machine.memory[step.k] : std::nullopt;
        case BPF_LEN:
            return static_cast<std::uint32_t>(sizeof(seccomp_data));
        default:
            return std::nullopt;
    }
}

/// Any instruction but a return; `at` moves on by a jump. False: unknown.
bool carry_out(Machine& machine, std::span<const sock_filter> filter, std::size_t& at,
               const FilteredCall& call) noexcept {
    const sock_filter& step = filter[at];
    const std::uint32_t b = BPF_SRC(step.code) == BPF_X ? machine.x : step.k;
    switch (BPF_CLASS(step.code)) {
        case BPF_LD:
        case BPF_LDX: {
            const Word value = loaded(machine, step, call);
            (BPF_CLASS(step.code) == BPF_LD ? machine.a : machine.x) = value.value_or(0);
            return value.has_value() && BPF_SIZE(step.code) == BPF_W;
        }
        case BPF_ST:
        case BPF_STX:
            if (step.k >= BPF_MEMWORDS) {
                return false;
            }
            machine.memory[step.k] = BPF_CLASS(step.code) == BPF_ST ? machine.a : machine.x;
            return true;
        case BPF_ALU: {
            const Word value = computed(BPF_OP(step.code), machine.a, b);
            machine.a = value.value_or(0);
            return value.has_value();
        }
        case BPF_JMP: {
            const Word distance = distance_of(step, machine.a, b);
            at += distance.value_or(0);
            return distance.has_value();
        }
        case BPF_MISC:
            (BPF_MISCOP(step.code) == BPF_TAX ? machine.x : machine.a) =
                BPF_MISCOP(step.code) == BPF_TAX ? machine.a : machine.x;
            return true;
        default:
            return false;
    }
}

/// Copies memory of this process that may not be there: 0, or a negative errno.
long copy_checked(long from, void* to, std::size_t bytes) noexcept {
    const iovec source{reinterpret_cast<void*>(from), bytes};
    const iovec target{to, bytes};
    // By the thread's own id: the process's is its first thread's, which may have left.
    const long copied = raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_gettid),
                                    as_argument(&target), 1, as_argument(&source), 1, 0);
    return copied < 0 ? copied : copied == static_cast<long>(bytes) ? 0 : -EFAULT;
}

}  // namespace

std::optional<std::uint32_t> run_filter(std::span<const sock_filter> filter,
                                        const FilteredCall& call) noexcept {
    Machine machine;
    for (std::size_t at = 0; at < filter.size(); ++at) {
        const sock_filter& step = filter[at];
        if (step.code == (BPF_RET | BPF_K)) {
            return step.k;
        }
        if (step.code == (BPF_RET | BPF_A)) {
            return machine.a;
        }
        if (!carry_out(machine, filter, at, call)) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

FilterCopy::FilterCopy(long where) noexcept {
    sock_fprog program{};
    const long copied = where == 0 ? -EFAULT : copy_checked(where, &program, sizeof program);
    refused_ = copied == 0 ? program.len == 0 || program.len > BPF_MAXINSNS : copied == -EFAULT;
    if (copied != 0 || refused_) {
        return;
    }
    const std::size_t bytes = program.len * sizeof(sock_filter);
    const long room = capture::map_anonymous(bytes);
    if (capture::is_failure(room)) {
        return;
    }
    filter_ = reinterpret_cast<sock_filter*>(room);
    mapped_bytes_ = bytes;
    const long result = copy_checked(as_argument(program.filter), filter_, bytes);
    refused_ = result == -EFAULT;
    size_ = result == 0 ? program.len : 0;
}

FilterCopy::~FilterCopy() {
    if (mapped_bytes_ != 0) {
        raw_syscall(SYS_munmap, as_argument(filter_), static_cast<long>(mapped_bytes_));
    }
}

}  // namespace sample::agent
