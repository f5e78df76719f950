/* Plays the scenes that the configuration has. */
#include "scenes.h"

#include <unistd.h>

volatile unsigned sink;

void fail(void) {
    _exit(3);
}

int main(void) {
    play_frames();
    play_jumps();
    play_signals();
    play_coroutines();
#ifdef __GLIBC__
    play_contexts();
#endif
    play_assembly();
#ifdef WITH_THROWS
    play_throws();
#endif
#ifdef WITH_SILENT_ASSEMBLY
    sink += asm_silent(leaf, 1) + asm_silent_frame_pointer(leaf, 2);
#endif
#ifdef WITH_LYING_ASSEMBLY
    sink += asm_lying(leaf, 1);
#endif
    return 0;
}
