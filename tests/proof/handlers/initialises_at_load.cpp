// start-up: a constructor that runs when the library is loaded.
unsigned long start = __builtin_ia32_rdtsc();
