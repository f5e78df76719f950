#include "sampler/agent/forked_child.h"

#include "sampler/agent/arming.h"
#include "sampler/agent/child_environment.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/session_client.h"
#include "sampler/agent/signals.h"
#include "sampler/agent/workplace.h"
#include "sampler/capture/capture.h"

namespace sample::agent {

void in_forked_child() noexcept {
    const bool was_profiled = capture::detach_after_fork();
    forget_sources();
    forget_fork();
    signals_after_fork();
    if (!may_join()) {
        return;
    }
    set_up_confinement();
    if (!was_profiled || !children_wanted()) {
        return;
    }
    Workplace place;
    // A handler that forks on a small stack of its own mostly execs then: that image joins.
    if (place.is_here() || !is_on_alternate_stack()) {
        place.run_with_signals([] { join_session(JoinKind::after_fork); });
    }
}

}  // namespace sample::agent
