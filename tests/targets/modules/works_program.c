/* Works for half a second of CPU time in works(), which it exports, and a function below it; and
 * allocates, changes and frees ten blocks there. */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void spin(void) {
    for (int i = 0; i < 100000; ++i) {
        sink = sink * 31 + 7;
    }
}

__attribute__((noinline)) void works(void) {
    while (clock() < CLOCKS_PER_SEC / 2) {
        spin();
    }
    for (int i = 0; i < 10; ++i) {
        void* block = malloc(54321);
        block = realloc(block, 65432);
        free(block);
    }
}

int main(void) {
    works();
    return 0;
}
