/* Calls the hand-written functions. */
#include "scenes.h"

void play_assembly(void) {
    sink +=
        asm_pushes(leaf, 1) + asm_cfa_in_rbx(leaf, 2) + asm_saved_sp(leaf, 3) + asm_tail(leaf, 4);
}
