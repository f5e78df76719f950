// libsample.so: what runs in the program when it starts, forks and exits.
//
// The agent only captures. It joins a session in its constructor, before main; everything that
// allocates, parses or prints lives in the collector. Each step that fails leaves the program
// running unprofiled.
#include "sampler/agent/alternate_stack.h"
#include "sampler/agent/child_environment.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/forked_child.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/real.h"
#include "sampler/agent/session_client.h"
#include "sampler/agent/signals.h"
#include "sampler/agent/stack_bounds.h"
#include "sampler/agent/threads.h"

#include <pthread.h>

#include <cstdlib>

namespace sample::agent {
namespace {

void at_exit(int status, void* /*unused*/) {
    note_exit(status);
}

__attribute__((constructor)) void start() {
    set_up_process_state();
    find_real_functions();
    forget_runtime();
    set_main_stack_bounds();
    set_up_threads();
    set_up_confinement();
    pthread_atfork(before_fork, after_fork, in_forked_child);
    // Registered first, runs last: the program's own exit handlers are still sampled.
    on_exit(at_exit, nullptr);
    set_up_quick_exit();
    join_session(JoinKind::fresh_image);
    if (own_signal() == 0) {
        stop_giving_alternate_stacks();
    }
}

}  // namespace

}  // namespace sample::agent
