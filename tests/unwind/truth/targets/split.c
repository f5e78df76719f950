/* A function of which the unlikely part is compiled to another place. In a file of its own instead
   of NOINLINE: clang does not split what must not be inlined. */
#include "scenes.h"

__attribute__((cold)) static NOINLINE unsigned rare(unsigned x) {
    return leaf(x) ^ 1;
}

unsigned hot_and_cold(unsigned x) {
    unsigned sum = leaf(x);
    if (__builtin_expect(x > 100, 0)) {
        sum += rare(x) + rare(sum);
        sum ^= touch(&sink, 1) + rare(sum);
    }
    return sum + leaf(sum);
}
