/* Hand-written functions, with call frame information for every instruction. */
    .text

#define FUNCTION(name) \
    .globl name; .type name, @function; .p2align 4; name: .cfi_startproc; endbr64
#define END(name) .cfi_endproc; .size name, . - name

FUNCTION(asm_pushes)
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    mov %esi, %ebx
    mov %rdi, %r12
    mov %ebx, %edi
    call *%r12
    add %ebx, %eax
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
END(asm_pushes)

/* The CFA by another register than rsp and rbp. */
FUNCTION(asm_cfa_in_rbx)
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    mov %rsp, %rbx
    .cfi_def_cfa_register %rbx
    sub $64, %rsp
    and $-64, %rsp
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    mov %rbx, %rsp
    .cfi_def_cfa_register %rsp
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
END(asm_cfa_in_rbx)

/* The caller's rsp is kept in the frame, as OpenSSL does it: CFA = *(rsp + 32) + 8. */
FUNCTION(asm_saved_sp)
    mov %rsp, %rax
    .cfi_def_cfa_register %rax
    sub $40, %rsp
    and $-32, %rsp
    mov %rax, 32(%rsp)
    .cfi_escape 0x0f, 0x05, 0x77, 0x20, 0x06, 0x23, 0x08
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    mov 32(%rsp), %rsi
    .cfi_def_cfa %rsi, 8
    mov %rsi, %rsp
    .cfi_def_cfa_register %rsp
    ret
END(asm_saved_sp)

FUNCTION(asm_tail)
    mov %rdi, %rax
    mov %esi, %edi
    jmp *%rax
END(asm_tail)

    .globl asm_fault
    .type asm_fault, @function
    .p2align 4
asm_fault:
    .cfi_startproc
    ud2
    ret
    .cfi_endproc
    .size asm_fault, . - asm_fault

FUNCTION(asm_switch)
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    push %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    push %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    pop %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
END(asm_switch)

/* Entered one byte after its beginning, so that the return address on a new stack is inside it. */
    .globl asm_coroutine_start
    .type asm_coroutine_start, @function
    .p2align 4
asm_coroutine_start:
    .cfi_startproc
    .cfi_undefined %rip
    nop
    call *%r12
    ud2
    .cfi_endproc
    .size asm_coroutine_start, . - asm_coroutine_start

    .section .note.GNU-stack, "", @progbits
