// Switching stacks by hand, as coroutine libraries do, with call frame information. Include it in
// one file of a program.
#pragma once

// Saves what a call must keep on the stack it leaves, and takes it from the one it goes to.
extern "C" void switch_stacks(void** from, void* to);
asm(R"(
    .text
    .globl switch_stacks
    .type switch_stacks, @function
switch_stacks:
    .cfi_startproc
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r15
    .cfi_adjust_cfa_offset 8
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    .cfi_adjust_cfa_offset -8
    popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size switch_stacks, . - switch_stacks
)");
