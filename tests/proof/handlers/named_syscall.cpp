// Accepted: a system call in a function that the list of sites names.
long named_syscall();
long named_syscall() {
    long result = 39;  // getpid
    asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
}
