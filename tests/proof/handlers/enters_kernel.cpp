// syscall: a system call that no list names.
long handle();
long handle() {
    long result = 39;  // getpid
    asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
}
