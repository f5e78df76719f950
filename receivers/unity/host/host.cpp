// libsample-unity-host.so: a host for Unity native plug-ins in any program. docs/unity.md.
//
// SAMPLE_UNITY_PLUGIN=FILE.so[:FILE2.so] is loaded when the library is, which is before main(), and
// told to unload when the program exits. SAMPLE_UNITY_RELEASE=1: as a release player, which has no
// profiler.
#include "sample/unity/host.h"

#include "receivers/unity/host/categories.h"
#include "receivers/unity/host/events.h"
#include "receivers/unity/host/markers.h"
#include "receivers/unity/host/plugins.h"
#include "receivers/unity/host/program.h"
#include "receivers/unity/host/recording.h"

#include <cstdlib>
#include <cstring>

namespace sample::unity {
namespace {

constinit bool g_is_frame_open = false;  // By sample_unity_next_frame().

// Behind the constructor of sample/trace.h, which has 101.
__attribute__((constructor(103))) void begin_host() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before main().
    const char* const release = std::getenv("SAMPLE_UNITY_RELEASE");
    set_release(release != nullptr && std::strcmp(release, "1") == 0);
    begin_recording();
    begin_thread_records();
    watch_forks();
    make_builtin_categories();
    make_special_markers();
    if (ThreadRecord* const thread = ThreadRecord::current(); thread != nullptr) {
        name_thread(*thread, "", "Main Thread");
    }
    listen_as_registered();
}

__attribute__((constructor)) void load_wanted_plugins() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before main().
    load_plugins(std::getenv("SAMPLE_UNITY_PLUGIN"));
}

void end_frame() noexcept {
    if (g_is_frame_open) {
        recording()->frame(SAMPLE_TRACE_MAIN_FRAME, 0);
        g_is_frame_open = false;
    }
}

__attribute__((destructor)) void end_host() {
    end_frame();
    unload_plugins();
}

void next_frame() {
    ThreadRecord* const thread = ThreadRecord::current();
    if (thread == nullptr || thread->is_in_callback()) {
        return;
    }
    end_frame();
    begin_frame(*thread);
    if (SAMPLE_TRACE_IS_ON(sample_trace_frame)) {
        recording()->frame(SAMPLE_TRACE_MAIN_FRAME, 1);
        g_is_frame_open = true;
    }
}

}  // namespace
}  // namespace sample::unity

extern "C" __attribute__((visibility("default"))) void sample_unity_next_frame(void) {
    sample::unity::next_frame();
}
