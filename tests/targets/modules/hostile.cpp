// Profiler modules that do what they should not, by the name that HOSTILE says.
#include "sample/profiler_module.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define QUOTED_(a) #a
#define QUOTED(a) QUOTED_(a)

namespace {

constexpr std::string_view kName = QUOTED(HOSTILE);

void be_hostile() {
    if (kName == "crashes") {
        *static_cast<volatile int*>(nullptr) = 1;
    } else if (kName == "loops") {
        // So that the test ends: somebody else says it is slow long before.
        ::sleep(8);
    } else if (kName == "throws") {
        throw std::runtime_error{"thrown in a module's init"};
    } else if (kName == "crashes_later") {
        sample_profiler_handle handle = sample_profiler_create(nullptr);
        sample_profiler_enable_sampling(handle);
        sample_profiler_set_sample_hit_callback(handle, [](void*, uintptr_t, const void*) {
            *static_cast<volatile int*>(nullptr) = 1;
        });
    } else if (kName == "aborts_at_the_end") {
        sample_profiler_set_session_ended_callback(sample_profiler_create(nullptr),
                                                   [](void*) { std::abort(); });
    } else if (kName == "closes") {
        for (int fd = 3; fd < 1024; ++fd) {
            ::close(fd);
        }
    }
}

}  // namespace

SAMPLE_PROFILER_EXPORT void JOINED(sample_profiler_init_, HOSTILE)(const char* /*description*/) {
    be_hostile();
}
