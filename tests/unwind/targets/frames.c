// Code with frames of several kinds, compiled once for each way that a library can carry its frame
// descriptions: with .eh_frame_hdr, without it, in .debug_frame alone. Built from C, whose
// compilers let .eh_frame be left out.
#include <alloca.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

typedef void (*Leaf)(void*);

static volatile int sink = 0;

EXPORTED void frames_plain(Leaf leaf, void* data) {
    leaf(data);
    sink = sink + 1;
}

EXPORTED void frames_saving(Leaf leaf, void* data) {
    // Kept over the call in callee-saved registers.
    const int a = sink;
    const int b = sink;
    const int c = sink;
    const int d = sink;
    const int e = sink;
    const int f = sink;
    frames_plain(leaf, data);
    sink = a + b + c + d + e + f;
}

EXPORTED void frames_growing(Leaf leaf, void* data) {
    unsigned char* room = alloca((size_t)(sink & 63) + 40);
    memset(room, 1, 40);
    frames_saving(leaf, data);
    sink = room[sink & 7];
}

EXPORTED void frames_large(Leaf leaf, void* data) {
    unsigned char room[3000];
    memset(room, 2, sizeof room);
    frames_growing(leaf, data);
    sink = room[sink & 1023];
}
