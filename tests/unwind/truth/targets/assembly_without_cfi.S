/* Hand-written functions without call frame information. */
    .text

    .globl asm_silent
    .type asm_silent, @function
    .p2align 4
asm_silent:
    push %rbx
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    pop %rbx
    ret
    .size asm_silent, . - asm_silent

    .globl asm_silent_frame_pointer
    .type asm_silent_frame_pointer, @function
    .p2align 4
asm_silent_frame_pointer:
    push %rbp
    mov %rsp, %rbp
    sub $16, %rsp
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    leave
    ret
    .size asm_silent_frame_pointer, . - asm_silent_frame_pointer

    .section .note.GNU-stack, "", @progbits
