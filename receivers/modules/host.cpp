// libsample-modules.so: the host of profiler modules. docs/modules.md.
//
// It is preloaded behind libsample.so where a module is asked for, or loaded by it when a program
// loads one itself. It talks to the agent through a table, and to modules through another one; all
// of it lies still until a module wants something.
//
//   agent ─▶ tell_… below ─▶ profilers.h, which calls the callbacks
//   locks, exceptions, libraries, code: functions that it stands before ─▶ the same
//
// The modules of SAMPLE_MODULE are loaded by the constructor. The agent's is the first of all,
// where nothing else can be done; ours comes behind those of the program's libraries, in time
// before main().
#include "receivers/modules/agent.h"
#include "receivers/modules/code.h"
#include "receivers/modules/exceptions.h"
#include "receivers/modules/libraries.h"
#include "receivers/modules/loading.h"
#include "receivers/modules/locks.h"
#include "receivers/modules/next.h"
#include "receivers/modules/profilers.h"
#include "sample/profiler_module_abi.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace sample::modules {
namespace {

constinit Next<int(pthread_t, const char*)> g_setname{"pthread_setname_np"};

void tell_sample(std::uint64_t pc, const void* context) {
    tell<std::uintptr_t, const void*>(Event::sample_hit, pc, context);
}

void tell_allocated(const void* before, std::uint64_t before_bytes, const void* block,
                    std::uint64_t bytes) {
    if (before != nullptr) {
        tell(Event::reallocated, before, before_bytes, block, bytes);
    } else {
        tell(Event::allocated, block, bytes);
    }
}

void tell_freed(const void* block, std::uint64_t bytes) {
    tell(Event::freed, block, bytes);
}

void tell_thread_started() {
    tell<std::uintptr_t>(Event::thread_started, ::pthread_self());
}

void tell_thread_stopped() {
    look_at_libraries();
    tell<std::uintptr_t>(Event::thread_stopped, ::pthread_self());
}

void tell_exec(const char* path) {
    tell(Event::exec, path);
}

constexpr sample_module_listener kListener = {tell_sample,         tell_allocated,      tell_freed,
                                              tell_thread_started, tell_thread_stopped, tell_exec};

void in_parent() {
    tell(Event::forked, 0);
}

void in_child() {
    forget_loading();
    forget_looking();
    forget_other_threads();
    tell(Event::forked, 1);
}

int load_module(const char* description) {
    return agent() != nullptr && load(description) ? 1 : 0;
}

sample_profiler_installed* create(void* user, const void* module) {
    if (agent() == nullptr || agent()->is_profiled() == 0) {
        return nullptr;
    }
    Profiler* const profiler = install(user, keep_library(module));
    agent()->listen(&kListener);
    return profiler;
}

/// Where it is too late, nothing is told.
int enable(sample_profiler_installed* profiler, std::uint32_t what) {
    if (agent() == nullptr || agent()->is_profiled() == 0) {
        return 0;
    }
    switch (what) {
        case SAMPLE_MODULE_SAMPLING:
            return enable_sampling(profiler) ? 1 : 0;
        case SAMPLE_MODULE_ALLOCATIONS:
            if (agent()->tells_allocations() == 0) {
                return 0;
            }
            enable_allocations();
            return 1;
        case SAMPLE_MODULE_CONTENTIONS:
            if (!sees_locks()) {
                return 0;
            }
            enable_contention();
            return 1;
        case SAMPLE_MODULE_EXCEPTIONS:
            if (!sees_exceptions()) {
                return 0;
            }
            enable_exceptions();
            return 1;
        default:
            return 0;
    }
}

int set_mode(sample_profiler_installed* profiler, std::uint32_t mode, std::uint32_t frequency_hz) {
    return agent() != nullptr && set_sample_mode(profiler, mode, frequency_hz) ? 1 : 0;
}

int get_mode(sample_profiler_installed* profiler, std::uint32_t* mode,
             std::uint32_t* frequency_hz) {
    return agent() != nullptr && get_sample_mode(profiler, *mode, *frequency_hz) ? 1 : 0;
}

std::uint32_t stack(std::uintptr_t* pcs, std::uint32_t most) {
    static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));
    return agent() != nullptr ? agent()->stack(pcs, most) : 0;
}

std::uint32_t thread_id() {
    return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

__attribute__((constructor)) void begin_modules() {
    find_lock_functions();
    find_code_functions();
    find_agent();
    if (agent() == nullptr) {
        return;  // The program is not profiled: nothing is asked for.
    }
    ::pthread_atfork(nullptr, in_parent, in_child);
    if (agent()->is_profiled() == 0) {
        return;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before main().
    load_list(std::getenv("SAMPLE_MODULE"));
    look_at_libraries();
    tell(Event::session_started);
}

__attribute__((destructor)) void end_modules() {
    look_at_libraries();
    tell(Event::session_ended);
    if (close_all()) {
        clean_up();
    }
}

}  // namespace
}  // namespace sample::modules

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's are reserved.
SAMPLE_STANDS_BEFORE int pthread_setname_np(pthread_t thread, const char* name) noexcept {
    namespace modules = sample::modules;
    const int result = modules::g_setname.get()(thread, name);
    if (result == 0) {
        modules::tell<std::uintptr_t, const char*>(modules::Event::thread_name, thread, name);
    }
    return result;
}

// NOLINTBEGIN(readability-identifier-naming): where the note leads to.
extern "C" [[gnu::visibility("hidden")]] const sample_module_functions sample_module_host_functions;
const sample_module_functions sample_module_host_functions = {
    SAMPLE_PROFILER_API_VERSION, sizeof(sample_module_functions), sample::modules::load_module,
    sample::modules::create,     sample::modules::set_callback,   sample::modules::enable,
    sample::modules::set_mode,   sample::modules::get_mode,       sample::modules::stack,
    sample::modules::thread_id,
};
// NOLINTEND(readability-identifier-naming)

static_assert(SAMPLE_MODULE_HOST_NOTE == 3);
asm(R"(
    .pushsection .note.sample, "a", @note
    .balign 4
    .long 7, 8, 3
    .asciz "sample"
    .balign 4
0:  .quad sample_module_host_functions - 0b
    .popsection
)");
