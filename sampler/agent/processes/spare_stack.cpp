#include "sampler/agent/processes/spare_stack.h"

#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/thread_slots.h"

#include <sys/mman.h>

#include <utility>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kStackBytes = std::size_t{60} * 1024;
constexpr std::size_t kMappingBytes = SpareStack::kMemoryBytes + kStackBytes;

/// Of the calling thread's children that share its memory; it waits while they use it.
constinit thread_local char* t_of_children = nullptr;

char* map() noexcept {
    const long address = capture::map_anonymous(kMappingBytes, MAP_NORESERVE);
    return capture::is_failure(address) ? nullptr : reinterpret_cast<char*>(address);
}

void unmap(char* mapping) noexcept {
    raw_syscall(SYS_munmap, as_argument(mapping), kMappingBytes);
}

}  // namespace

extern "C" void sample_call_on(void (*function)(void*) noexcept, void* argument,
                               void* stack) noexcept;

// With a frame pointer, so that a stack is walked from the one to the other.
asm(R"(
    .pushsection .text.sample_call_on, "ax", @progbits
    .globl sample_call_on
    .hidden sample_call_on
    .type sample_call_on, @function
    .p2align 4
sample_call_on:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdx, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    callq *%rax
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size sample_call_on, . - sample_call_on
    .popsection
)");

bool has_room_here() noexcept {
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    const capture::ThreadLocal& self = capture::t_thread;
    return here < self.stack_high && here > self.stack_low + kMappingBytes;
}

bool is_on_alternate_stack() noexcept {
    stack_t now{};
    const auto sp = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    return program_sigaltstack(nullptr, &now, sp) == 0 && (now.ss_flags & SS_ONSTACK) != 0;
}

// A filter may know no mmap of the program's: then its stack has to do.
SpareStack::SpareStack() noexcept {
    if (has_room_here() || is_confined()) {
        return;
    }
    is_kept_ = !is_owner();
    if (is_kept_ && t_of_children == nullptr) {
        t_of_children = map();
    }
    mapping_ = is_kept_ ? t_of_children : map();
}

SpareStack::~SpareStack() {
    if (!is_kept_ && mapping_ != nullptr) {
        unmap(mapping_);
    }
}

void SpareStack::call(Function function, void* argument) const noexcept {
    if (uses_callers_stack()) {
        function(argument);
    } else {
        const source::BlockedSignals blocked;
        call_with_signals(function, argument);
    }
}

void SpareStack::call_with_signals(Function function, void* argument) const noexcept {
    if (uses_callers_stack()) {
        function(argument);
    } else {
        sample_call_on(function, argument, mapping_ + kMappingBytes);
    }
}

void free_spare_stack_of_children() noexcept {
    if (char* mapping = std::exchange(t_of_children, nullptr); mapping != nullptr) {
        unmap(mapping);
    }
}

}  // namespace sample::agent
