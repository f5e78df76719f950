// recursion: no bound on its stack.
long handle(long depth);
__attribute__((noinline)) long handle(long depth) {
    if (depth < 2) {
        return depth;
    }
    const long below = handle(depth - 1);
    asm volatile("" ::: "memory");
    return below * handle(depth - 2);
}
