/* Frames of every shape that a compiler makes. */
#include "scenes.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

NOINLINE unsigned leaf(unsigned x) {
    return x * 2654435761U ^ sink;
}

NOINLINE unsigned touch(volatile unsigned* words, unsigned count) {
    unsigned sum = 0;
    for (unsigned i = 0; i < count; ++i) {
        words[i] = i;
        sum += words[i];
    }
    return sum;
}

static NOINLINE unsigned red_zone(unsigned x) {
    volatile unsigned words[12];
    words[x & 7] = x;
    return words[x & 7] + 1;
}

static NOINLINE unsigned recurse(unsigned depth) {
    volatile unsigned words[4];
    words[depth & 3] = depth;
    if (depth == 0) {
        return leaf(depth);
    }
    return recurse(depth - 1) + words[depth & 3];
}

static NOINLINE unsigned saves_registers(unsigned a, unsigned b, unsigned c, unsigned d,
                                         unsigned e) {
    const unsigned first = leaf(a);
    const unsigned second = leaf(b + first);
    const unsigned third = leaf(c + second);
    const unsigned fourth = leaf(d + third);
    const unsigned fifth = leaf(e + fourth);
    return first ^ second ^ third ^ fourth ^ fifth ^ leaf(a + b + c + d + e);
}

static NOINLINE unsigned takes_stack_arguments(unsigned a, unsigned b, unsigned c, unsigned d,
                                               unsigned e, unsigned f, unsigned g, unsigned h,
                                               unsigned i) {
    return leaf(a + b + c + d + e + f) + g * h * i;
}

static NOINLINE unsigned passes_stack_arguments(unsigned x) {
    return takes_stack_arguments(x, 1, 2, 3, 4, 5, 6, 7, x) +
           takes_stack_arguments(1, x, 2, 3, 4, 5, x, 7, 8) + 1;
}

static NOINLINE unsigned varying(unsigned count, ...) {
    va_list list;
    va_start(list, count);
    unsigned sum = 0;
    for (unsigned i = 0; i < count; ++i) {
        sum += leaf(va_arg(list, unsigned));
    }
    va_end(list);
    return sum;
}

static NOINLINE unsigned uses_alloca(unsigned count) {
    unsigned* words = __builtin_alloca(count * sizeof(unsigned));
    return touch(words, count) + leaf(count);
}

static NOINLINE unsigned uses_vla(unsigned count) {
    unsigned sum = 0;
    for (unsigned i = 1; i <= count; ++i) {
        volatile unsigned words[i];
        sum += touch(words, i);
    }
    return sum;
}

static NOINLINE unsigned realigned(unsigned x) {
    _Alignas(64) volatile unsigned words[16];
    return touch(words, 4) + leaf(x) + ((unsigned)(unsigned long)words & 63);
}

static NOINLINE unsigned realigned_and_alloca(unsigned x) {
    _Alignas(64) volatile unsigned words[16];
    unsigned* more = __builtin_alloca(x * sizeof(unsigned));
    return touch(words, 4) + touch(more, x) + ((unsigned)(unsigned long)words & 63);
}

static NOINLINE unsigned realigned_with_stack_arguments(unsigned a, unsigned b, unsigned c,
                                                        unsigned d, unsigned e, unsigned f,
                                                        unsigned g) {
    _Alignas(64) volatile unsigned words[16];
    return touch(words, 4) + leaf(a + b + c + d + e + f + g);
}

static NOINLINE unsigned big_frame(unsigned x) {
    volatile unsigned words[5000];
    words[x] = x;
    return leaf(words[x]) + touch(words, 2);
}

static NOINLINE unsigned tail_target(unsigned x) {
    return leaf(x) + 1;
}

static NOINLINE unsigned tail_call(unsigned x) {
    volatile unsigned words[4];
    words[x & 3] = leaf(x);
    return tail_target(words[x & 3]);
}

static NOINLINE unsigned indirect_tail_call(unsigned (*callee)(unsigned), unsigned x) {
    return callee(leaf(x));
}

static NOINLINE unsigned switches(unsigned x) {
    switch (x) {
        case 0:
            return leaf(1);
        case 1:
            return tail_target(2) + 3;
        case 2:
            return red_zone(3);
        case 3:
            return leaf(x) * leaf(2);
        case 4:
            return sink;
        case 5:
            return leaf(sink) - 1;
        default:
            return 0;
    }
}

static int compare(const void* a, const void* b) {
    const unsigned left = *(const unsigned*)a;
    const unsigned right = *(const unsigned*)b;
    return left < right ? -1 : left > right;
}

static NOINLINE unsigned sorts(void) {
    unsigned words[3] = {2, 1, 3};
    qsort(words, 3, sizeof(words[0]), compare);
    char text[24];
    memset(text, (int)words[0], sizeof(text));
    text[sizeof(text) - 1] = '\0';
    return words[0] + (unsigned)strlen(text);
}

void play_frames(void) {
    sink += red_zone(1) + recurse(3) + saves_registers(1, 2, 3, 4, 5) + passes_stack_arguments(6);
    sink += varying(2, 7U, 8U) + uses_alloca(5) + uses_vla(3);
    sink += realigned(9) + realigned_and_alloca(3) +
            realigned_with_stack_arguments(1, 2, 3, 4, 5, 6, 7);
    sink += big_frame(10) + tail_call(11) + indirect_tail_call(tail_target, 12);
    sink += hot_and_cold(13) + hot_and_cold(1000);
    for (unsigned i = 0; i < 7; ++i) {
        sink += switches(i);
    }
    sink += library_mix(14) + library_call(tail_target, 15) + sorts();
}
