// stack: its size depends on the caller.
void handle(unsigned size, char* out);
void handle(unsigned size, char* out) {
    char* frame = static_cast<char*>(__builtin_alloca(size));
    asm volatile("" : : "r"(frame) : "memory");
    *out = frame[0];
}
