// libsample.so: what runs in the program when it starts, forks and exits.
//
// The agent only captures. It joins a session in its constructor, before main; everything that
// allocates, parses or prints lives in the collector. Each step that fails leaves the program
// running unprofiled.
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/late_start.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/processes/child_environment.h"
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/control/invitation.h"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

// The loader's note of where the kernel put the first stack word. Source: glibc, GLIBC_2.2.5.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* __libc_stack_end;

namespace sample::agent {

constinit capture::WipedOnFork<ProcessState> g_process_state;

namespace {

int find_code(dl_phdr_info* info, std::size_t /*size*/, void* something_of_libc) {
    for (const ElfW(Phdr)* header = info->dlpi_phdr; header != info->dlpi_phdr + info->dlpi_phnum;
         ++header) {
        const std::uint64_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0 &&
            reinterpret_cast<std::uint64_t>(something_of_libc) - begin < header->p_memsz) {
            capture::set_libc_code(begin, header->p_memsz);
            return 1;
        }
    }
    return 0;
}

void set_up_process_state() noexcept {
    g_process_state.set_up();
    capture::set_up_for_forks();
    constexpr unsigned long kFsGsBase = 2;  // HWCAP2_FSGSBASE, which glibc has no name for
    if ((getauxval(AT_HWCAP2) & kFsGsBase) != 0) {
        capture::read_thread_base_by_instruction();
    }
    process_state().signals_owner.store(capture::raw_syscall(SYS_getpid));
}

/// Tells capture the bounds of the main thread's stack, which no thread start tells us of.
void set_main_stack_bounds() noexcept {
    constexpr std::uint64_t kPage = 4096;
    // Below this much stack the kernel is asked page by page: without a limit, other mappings may
    // be there.
    constexpr std::uint64_t kMostTrusted = 64U << 20U;
    if (capture::raw_syscall(SYS_gettid) != capture::raw_syscall(SYS_getpid)) {
        return;
    }
    rlimit limit{};
    std::uint64_t bytes = kMostTrusted;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes) {
        bytes = limit.rlim_cur;
    }
    // The words above (arguments, environment) are on the same pages or higher ones, all mapped.
    const std::uint64_t high =
        (reinterpret_cast<std::uint64_t>(__libc_stack_end) + kPage) & ~(kPage - 1);
    capture::set_stack_bounds(high - bytes, high);
}

void at_exit(int status, void* /*unused*/) {
    note_exit(status);
}

void join() noexcept {
    control::Invitation* const invitation = is_loaded_late() ? find_invitation() : nullptr;
    if (invitation == nullptr) {
        say_problem(join_session(JoinKind::fresh_image));
        return;
    }
    const char* const problem = join_session(JoinKind::fresh_image, invitation->session.data());
    invitation->problem = reinterpret_cast<std::uint64_t>(problem);
    invitation->is_answered = 1;
}

/// Ours is the first constructor of all (-z initfirst), so that the others are sampled: libc's own,
/// which sets `environ`, is still to come. Where a library of the program claims that, too, it is
/// one of the last. Source: glibc elf/dl-init.c, _dl_init.
__attribute__((constructor)) void start(int /*argc*/, char** /*argv*/, char** envp) {
    if (environ == nullptr) {
        environ = envp;
    }
    look_whether_late();
    if (is_loaded_late()) {
        keep_libraries();
    }
    set_up_process_state();
    find_next_definitions();
    dl_iterate_phdr(find_code, find_next("gnu_get_libc_version"));
    forget_runtime();
    set_main_stack_bounds();
    set_up_threads();
    set_up_confinement();
    pthread_atfork(before_fork, after_fork, in_forked_child);
    // Registered first, runs last: the program's own exit handlers are still sampled.
    on_exit(at_exit, nullptr);
    set_up_quick_exit();
    join();
    note_handlers();
    if (set_up_heap != nullptr) {
        set_up_heap();
    }
    if (own_signal() == 0) {
        stop_giving_alternate_stacks();
    }
}

}  // namespace
}  // namespace sample::agent
