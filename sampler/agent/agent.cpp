// libsample.so: what runs in the program when it starts, forks and exits.
//
// The agent only captures. It joins a session in its constructor, before main; everything that
// allocates, parses or prints lives in the collector. Each step that fails leaves the program
// running unprofiled.
#include "sampler/agent/arming.h"
#include "sampler/agent/child_environment.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/session_client.h"
#include "sampler/agent/signals.h"
#include "sampler/agent/stack_bounds.h"
#include "sampler/agent/threads.h"
#include "sampler/capture/capture.h"

#include <pthread.h>

#include <cstdlib>

namespace sample::agent {
namespace {

void in_forked_child() {
    const bool was_profiled = capture::current_area() != nullptr;
    capture::detach_after_fork();
    forget_sources();
    forget_fork();
    signals_after_fork();
    set_up_confinement();
    if (was_profiled && children_wanted() && may_join()) {
        join_session(JoinKind::after_fork);
    }
}

void at_exit(int status, void* /*unused*/) {
    note_exit(status);
}

__attribute__((constructor)) void start() {
    set_main_stack_bounds();
    set_up_threads();
    set_up_confinement();
    pthread_atfork(before_fork, after_fork, in_forked_child);
    // Registered first, runs last: the program's own exit handlers are still sampled.
    on_exit(at_exit, nullptr);
    join_session(JoinKind::fresh_image);
}

}  // namespace

}  // namespace sample::agent
