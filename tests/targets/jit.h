// Machine code made at run time, for the targets that do.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace targets {

/// A function (state, steps) that does `steps` steps of the work in work.h, with a frame pointer
/// and without unwind tables, as compilers of that kind make it.
inline constexpr unsigned char kJitCode[] = {
    0x55,                    // push %rbp
    0x48, 0x89, 0xe5,        // mov %rsp,%rbp
    0x48, 0x89, 0xf8,        // mov %rdi,%rax
    0x48, 0x89, 0xc2,        // again: mov %rax,%rdx
    0x48, 0xc1, 0xe2, 0x0d,  // shl $13,%rdx
    0x48, 0x31, 0xd0,        // xor %rdx,%rax
    0x48, 0x89, 0xc2,        // mov %rax,%rdx
    0x48, 0xc1, 0xea, 0x07,  // shr $7,%rdx
    0x48, 0x31, 0xd0,        // xor %rdx,%rax
    0x48, 0x89, 0xc2,        // mov %rax,%rdx
    0x48, 0xc1, 0xe2, 0x11,  // shl $17,%rdx
    0x48, 0x31, 0xd0,        // xor %rdx,%rax
    0x48, 0xff, 0xce,        // dec %rsi
    0x75, 0xdb,              // jne again
    0x5d,                    // pop %rbp
    0xc3,                    // ret
};
/// Where in it the loop begins.
inline constexpr unsigned kJitLoop = 7;

/// A function (state, steps, function) that calls `function` for the work.
inline constexpr unsigned char kJitCaller[] = {
    0x55,              // push %rbp
    0x48, 0x89, 0xe5,  // mov %rsp,%rbp
    0xff, 0xd2,        // call *%rdx
    0x5d,              // pop %rbp
    0xc3,              // ret
};

using JitWork = std::uint64_t (*)(std::uint64_t state, std::uint64_t steps);
using JitFunction = std::uint64_t (*)(std::uint64_t state, std::uint64_t steps, JitWork work);

/// Anonymous memory, writable and executable.
inline unsigned char* jit_memory(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::abort();
    }
    return static_cast<unsigned char*>(memory);
}

/// `code` is kJitCode or kJitCaller.
template <std::size_t kBytes>
JitFunction compile_to(unsigned char* memory, const unsigned char (&code)[kBytes]) {
    std::memcpy(memory, code, kBytes);
    JitFunction function = nullptr;
    std::memcpy(&function, &memory, sizeof function);
    return function;
}

}  // namespace targets
