/* A library's functions: called through the PLT, and calling back. */
#include "scenes.h"

static NOINLINE unsigned inner(unsigned x) {
    return x * 2654435761U >> 3;
}

unsigned library_mix(unsigned x) {
    return inner(x) + inner(x + 1);
}

unsigned library_call(unsigned (*callback)(unsigned), unsigned x) {
    return callback(x) + library_mix(x);
}
