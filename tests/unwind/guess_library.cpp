// A library whose one function has no unwind tables, to be called through a PLT stub.
asm(R"(
    .text
    .globl guess_in_library
    .type guess_in_library, @function
guess_in_library:
    push %rbx
    int3
    nop
    pop %rbx
    ret
    .size guess_in_library, . - guess_in_library
)");
