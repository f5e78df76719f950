/* Call frame information that is wrong: it does not know of the push, and takes what was pushed, an
   address inside this very function, for the return address. */
    .text
    .globl asm_lying
    .type asm_lying, @function
    .p2align 4
asm_lying:
    .cfi_startproc
    lea 1f(%rip), %rax
    push %rax
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
1:
    add $8, %rsp
    ret
    .cfi_endproc
    .size asm_lying, . - asm_lying

    .section .note.GNU-stack, "", @progbits
