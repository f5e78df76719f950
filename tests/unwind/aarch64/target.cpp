// An aarch64 program whose every instruction record.py records. It needs no library, so that the
// whole of it is a few KB: frames of all sorts, signed return addresses, a signal handler, and out.
//
//     aarch64-linux-gnu-g++ with the flags in record.py
namespace {

using Word = unsigned long;

long system_call(long number, long a, long b = 0, long c = 0, long d = 0) {
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

constexpr long kExit = 93;
constexpr long kKill = 129;
constexpr long kSigaction = 134;
constexpr long kGetpid = 172;
constexpr int kSigusr1 = 10;
constexpr Word kRestorer = 0x04000000;

volatile Word sink;

[[gnu::noinline]] Word leaf(Word a, Word b) {
    return a * 31 + b;
}

/// Spills, but calls nobody: sp moves, x30 stays where it is.
[[gnu::noinline]] Word leaf_with_frame(Word a) {
    volatile Word table[6];
    for (Word i = 0; i < 6; i += 2) {
        table[i] = a + i;
    }
    return table[a % 3 * 2];
}

[[gnu::noinline]] Word caller(Word a) {
    return leaf(a, 1) + leaf_with_frame(a);
}

/// All callee-saved registers.
[[gnu::noinline]] Word busy(Word a, Word (*callee)(Word)) {
    const Word b = callee(a + 1);
    const Word c = callee(b + a);
    const Word d = callee(c + b);
    const Word e = callee(d + c + a);
    return leaf(a, b) + leaf(c, d) + leaf(e, a) + leaf(b, d);
}

Word recurse(Word depth);
/// Not a loop, for all that the compiler knows.
Word (*volatile again)(Word) = recurse;

[[gnu::noinline]] Word recurse(Word depth) {
    if (depth == 0) {
        return caller(3);
    }
    return again(depth - 1) + depth;
}

/// The CFA is found by x29: sp is anywhere.
[[gnu::noinline]] Word variable(Word size) {
    auto* words = static_cast<volatile Word*>(__builtin_alloca(size * sizeof(Word)));
    words[0] = size;
    words[size - 1] = caller(size);
    return words[0] + words[size - 1];
}

/// Its frame record is far below the CFA.
[[gnu::noinline]] Word large(Word a) {
    volatile Word words[5000];
    words[a] = a;
    words[4999] = caller(a);
    return words[a] + words[4999];
}

[[gnu::noinline]] Word tail(Word a) {
    return caller(a + 1);
}

/// Realigns its stack.
[[gnu::noinline]] Word aligned(Word a) {
    alignas(64) volatile Word words[8];
    words[a] = leaf(a, a);
    return words[a] + caller(words[a] % 8);
}

/// Saves x30 late: the early way out is a leaf's.
[[gnu::noinline]] Word shrink_wrapped(Word a) {
    if (a < 4) [[likely]] {
        return a;
    }
    sink = caller(a);
    return sink + caller(a + sink);
}

void on_signal(int signal) {
    sink = caller(static_cast<Word>(signal));
}

}  // namespace

/// As the kernel's own: no rules.
asm(R"(
    .text
    .type restorer, %function
restorer:
    mov x8, #139
    svc #0
)");
extern "C" void restorer();

extern "C" [[gnu::used, gnu::noinline]] void run() {
    struct {
        void (*handler)(int);
        Word flags;
        void (*restorer)();
        Word mask;
    } const action{on_signal, kRestorer, restorer, 0};
    system_call(kSigaction, kSigusr1, reinterpret_cast<long>(&action), 0, sizeof(Word));
    Word sum = busy(2, caller);
    sum += recurse(6);
    sum += variable(5) + variable(9);
    sum += large(7);
    sum += tail(1);
    sum += aligned(3);
    sum += shrink_wrapped(1) + shrink_wrapped(5);
    system_call(kKill, system_call(kGetpid, 0), kSigusr1);
    sum += busy(5, tail);
    sink = sum;
    system_call(kExit, 0);
}

asm(R"(
    .text
    .global _start
    .type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl run
    udf #0
    .cfi_endproc
)");
