/* The scenes that every program of the matrix plays, once each: small, because every instruction of
   theirs is single-stepped, and without output. A scene that goes wrong calls fail(). */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define NOINLINE __attribute__((noinline, noclone))
#if defined(__clang__)
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

extern volatile unsigned sink;

/* Ends the program with a status that is not 0. */
__attribute__((noreturn)) void fail(void);

void play_frames(void);
void play_jumps(void);
void play_signals(void);
void play_coroutines(void);
void play_contexts(void);
void play_assembly(void);
void play_throws(void);

/* Plain callees for the others. */
unsigned leaf(unsigned x);
unsigned touch(volatile unsigned* words, unsigned count);

/* split.c. */
unsigned hot_and_cold(unsigned x);

/* library.c: in a shared library, where there is one. */
unsigned library_mix(unsigned x);
unsigned library_call(unsigned (*callback)(unsigned), unsigned x);

/* assembly.S, with CFI. */
unsigned asm_pushes(unsigned (*callback)(unsigned), unsigned x);
unsigned asm_cfa_in_rbx(unsigned (*callback)(unsigned), unsigned x);
unsigned asm_saved_sp(unsigned (*callback)(unsigned), unsigned x);
unsigned asm_tail(unsigned (*callback)(unsigned), unsigned x);
/* An instruction that faults, the first of its function; two bytes long. */
void asm_fault(void);
/* Keeps the callee-saved registers and rsp of this stack in *from, and goes on where `to` was left.
 */
void asm_switch(void** from, void* to);
/* Where a new stack begins; calls the function in r12. */
void asm_coroutine_start(void);

/* assembly_without_cfi.S, and lying.S, whose CFI is wrong on purpose. */
unsigned asm_silent(unsigned (*callback)(unsigned), unsigned x);
unsigned asm_silent_frame_pointer(unsigned (*callback)(unsigned), unsigned x);
unsigned asm_lying(unsigned (*callback)(unsigned), unsigned x);

#ifdef __cplusplus
}
#endif
