#include "sampler/agent/process_state.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"

namespace sample::agent {

constinit capture::WipedOnFork<ProcessState> g_process_state;

void set_up_process_state() noexcept {
    g_process_state.set_up();
    capture::set_up_for_forks();
    process_state().signals_owner.store(capture::raw_syscall(SYS_getpid));
}

}  // namespace sample::agent
