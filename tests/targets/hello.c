/* Says hello and ends with 7: linked statically, where no preload library can reach it, and as a
 * small dynamic C program that is given setuid by the test that needs one. */
#include <stdio.h>

static volatile unsigned long sum = 0;

int main(void) {
    for (unsigned long step = 0; step < 20000000UL; ++step) {
        sum += step;
    }
    puts("hello");
    return 7;
}
