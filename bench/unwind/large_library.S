# A library of more than 100 MB with an .eh_frame of several: 104,000 functions of a kilobyte, which
# are never run, and among them a chain of eight, far from each other, which call what they are given.

    .macro unused_function
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    sub $64, %rsp
    .cfi_def_cfa_offset 80
    .skip 1000, 0x90
    add $64, %rsp
    .cfi_def_cfa_offset 16
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .endm

# hop_N(callback, data) calls hop_NEXT with the same.
    .macro hop number, next
    .type hop_\number, @function
hop_\number:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    sub $(32 + 16 * \number), %rsp
    .cfi_def_cfa_offset 48 + 16 * \number
    call hop_\next
    add $(32 + 16 * \number), %rsp
    .cfi_def_cfa_offset 16
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size hop_\number, . - hop_\number
    .rept 13000
    unused_function
    .endr
    .endm

    .text
    hop 0, 1
    hop 1, 2
    hop 2, 3
    hop 3, 4
    hop 4, 5
    hop 5, 6
    hop 6, 7

    .globl large_library_call
    .type large_library_call, @function
large_library_call:
    .cfi_startproc
    sub $8, %rsp
    .cfi_def_cfa_offset 16
    call hop_0
    add $8, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size large_library_call, . - large_library_call

# The last of the chain: calls callback(data).
    .type hop_7, @function
hop_7:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size hop_7, . - hop_7
    .rept 13000
    unused_function
    .endr

    .section .note.GNU-stack, "", @progbits
