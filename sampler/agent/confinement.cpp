#include "sampler/agent/confinement.h"

#include "sampler/agent/arming.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/rehearsal.h"
#include "sampler/agent/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/control/protocol.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>

namespace sample::agent {
namespace {

using capture::raw_syscall;

constexpr const char* kPreload = "LD_PRELOAD";

/// Every image of this process starts without us; otherwise the one process id for which that
/// holds.
constexpr long kEveryImage = -1;

constinit std::atomic<bool> g_may_join{true};
constinit std::atomic<bool> g_may_rehearse{true};
constinit std::atomic<bool> g_is_confined{false};
constinit std::atomic<long> g_leaves_environment{0};
constinit long g_own_pid = 0;
constinit const char* g_own_name = nullptr;
constinit std::array<char, PATH_MAX> g_other_libraries{};

const char* file_name(const char* path) noexcept {
    const char* slash = strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

/// The value of the environment's entry, if it is that variable's; else null.
char* value_of(char* entry, const char* variable) noexcept {
    const std::size_t size = strlen(variable);
    return strncmp(entry, variable, size) == 0 && entry[size] == '=' ? entry + size + 1 : nullptr;
}

bool is_us(const char* library, std::size_t size) noexcept {
    if (g_own_name == nullptr) {
        return false;
    }
    const std::size_t own = strlen(g_own_name);
    return size >= own && memcmp(library + size - own, g_own_name, own) == 0 &&
           (size == own || library[size - own - 1] == '/');
}

/// LD_PRELOAD's other libraries, as an entry of the environment; null: there are none.
char* preload_without_us(const char* libraries) noexcept {
    std::array<char, PATH_MAX>& entry = g_other_libraries;
    std::size_t size = strlen(kPreload);
    memcpy(entry.data(), kPreload, size);
    entry[size] = '=';
    const std::size_t none = ++size;
    while (*libraries != '\0') {
        const std::size_t length = strcspn(libraries, " :");
        if (length != 0 && !is_us(libraries, length) && size + length + 2 <= entry.size()) {
            if (size > none) {
                entry[size++] = ':';
            }
            memcpy(entry.data() + size, libraries, length);
            size += length;
        }
        libraries += length;
        libraries += *libraries != '\0' ? 1 : 0;
    }
    entry[size] = '\0';
    return size > none ? entry.data() : nullptr;
}

/// What becomes of an entry of the environment; null: it goes.
char* entry_without_us(char* entry) noexcept {
    if (value_of(entry, control::kSessionVariable) != nullptr) {
        return nullptr;
    }
    const char* libraries = value_of(entry, kPreload);
    return libraries != nullptr ? preload_without_us(libraries) : entry;
}

bool is_strict(const ConfiningCall& call) noexcept {
    return call.number == SYS_seccomp ? call.a == SECCOMP_SET_MODE_STRICT
                                      : call.b == SECCOMP_MODE_STRICT;
}

/// Only the kernel's, and what was asked of it, can say what a call past these is.
bool confines(const ConfiningCall& call) noexcept {
    return call.number == SYS_seccomp
               ? call.a == SECCOMP_SET_MODE_STRICT || call.a == SECCOMP_SET_MODE_FILTER
               : call.a == PR_SET_SECCOMP;
}

/// The sampling thread's own calls would be under the filter, too.
bool reaches_the_sampling_thread(const ConfiningCall& call) noexcept {
    return call.number == SYS_seccomp && has_sampling_thread() &&
           (static_cast<unsigned long>(call.b) & SECCOMP_FILTER_FLAG_TSYNC) != 0;
}

void note(capture::Confinement what) noexcept {
    if (capture::Area* area = capture::current_area(); area != nullptr) {
        area->header.confinement.store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
    }
}

void stop_sampling() noexcept {
    capture::Area* area = capture::current_area();
    if (area == nullptr) {
        return;
    }
    note(capture::Confinement::stopped);
    close_gate_for_good();
    stop_sources(*area);
    // What is not sampled from here on is not the kernel's.
    area->header.kernel_excluded.store(0, std::memory_order_relaxed);
    // A filter may be set for all threads: none may call the kernel inside the handler by then.
    capture::withdraw();
    give_signal_back();
}

/// In a child that may share its parent's memory, or not: the parent sees none of it.
void leave_environment_alone() noexcept {
    g_leaves_environment.store(raw_syscall(SYS_getpid));
}

void leave_environment() noexcept {
    g_may_join.store(false);
    note(capture::Confinement::children_left_out);
    g_leaves_environment.store(kEveryImage);
    if (environ != nullptr) {
        // In place, as unsetenv(3) does: also functions of libc that exec without asking us see it.
        copy_environment_without_us(environ, environ);
    }
}

}  // namespace

void set_up_confinement() noexcept {
    g_own_pid = raw_syscall(SYS_getpid);
    Dl_info info{};
    if (g_own_name == nullptr &&
        dladdr(reinterpret_cast<const void*>(&set_up_confinement), &info) != 0 &&
        info.dli_fname != nullptr) {
        g_own_name = file_name(info.dli_fname);
    }
}

bool may_join() noexcept {
    return g_may_join.load(std::memory_order_relaxed);
}

bool is_confined() noexcept {
    return g_is_confined.load(std::memory_order_relaxed);
}

bool must_leave_environment() noexcept {
    const long who = g_leaves_environment.load(std::memory_order_relaxed);
    return who == kEveryImage || (who != 0 && raw_syscall(SYS_getpid) == who);
}

void copy_environment_without_us(char* const* from, char** to) noexcept {
    for (; *from != nullptr; ++from) {
        if (char* entry = entry_without_us(*from); entry != nullptr) {
            *to++ = entry;
        }
    }
    *to = nullptr;
}

void before_confinement(const ConfiningCall& call) noexcept {
    if (!confines(call) || (!may_join() && capture::current_area() == nullptr)) {
        return;
    }
    const bool in_own_process = raw_syscall(SYS_getpid) == g_own_pid;
    const bool stops_anyway = is_strict(call) || reaches_the_sampling_thread(call);
    const Verdict sampling = g_may_rehearse.load()
                                 ? rehearse(call, stops_anyway ? Needs::nothing : Needs::sampling)
                                 : Verdict::refused;
    if (sampling == Verdict::not_installed) {
        return;
    }
    g_is_confined.store(true);
    const bool stops = stops_anyway || sampling == Verdict::refused;
    const bool leaves =
        stops || !may_join() || rehearse(call, Needs::joining) != Verdict::permitted;
    if (!in_own_process) {
        if (leaves) {
            leave_environment_alone();
        }
        return;
    }
    if (stops) {
        stop_sampling();
    } else {
        g_may_rehearse.store(rehearse(call, Needs::rehearsing) == Verdict::permitted);
    }
    if (leaves) {
        leave_environment();
    }
}

}  // namespace sample::agent
