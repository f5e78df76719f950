/* For programs that load Unity native plug-ins themselves: libsample-unity-host.so is a host for
 * them, which records what they say and tells them what the program says by sample/trace.h.
 * C and C++. docs/unity.md.
 *
 * Link it (-lsample-unity-host), or look the functions up by dlsym(RTLD_DEFAULT, …) where
 * `sample --unity-plugin` may have preloaded it. Not in signal handlers. */
#ifndef SAMPLE_UNITY_HOST_H
#define SAMPLE_UNITY_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a plug-in as dlopen(3) finds it, and calls its UnityPluginLoad. One that is loaded already
 * counts once more. 0; -1: it cannot be loaded, or threw; it is said on stderr why. */
int sample_unity_load(const char* path);

/* Takes back one sample_unity_load of the same path: at the last one UnityPluginUnload is called,
 * callbacks that it has left registered are removed, and the library is closed, unless a callback
 * does not return, or is what calls this: then it stays mapped. -1: there is none. What has not
 * been unloaded when the program exits is then. */
int sample_unity_unload(const char* path);

/* The next logical frame begins: for programs that do not say it by SAMPLE_TRACE_FRAME_BEGIN. By
 * one thread. Runs the plug-ins' frame callbacks, and flushes their counters before. */
void sample_unity_next_frame(void);

#ifdef __cplusplus
}
#endif

#endif
