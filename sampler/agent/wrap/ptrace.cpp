// ptrace: a process that another one of the session traces is not sampled, as each sample's signal
// would stop it for its tracer, and its next image starts without us.
//
// A tracer from outside of the session has chosen to see us; see docs/sources.md for that one.
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/wrap/next_definition.h"

#include <linux/ptrace.h>

#include <cerrno>
#include <cstdarg>

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_ptrace, "ptrace", long(int, pid_t, void*, void*));

}  // namespace
}  // namespace sample::agent

extern "C" SAMPLE_WRAPPER long ptrace(int request, ...) noexcept {
    namespace agent = sample::agent;
    va_list list;
    va_start(list, request);
    const auto pid = va_arg(list, pid_t);
    auto* address = va_arg(list, void*);
    auto* data = va_arg(list, void*);
    va_end(list);
    if (request == PTRACE_TRACEME) {
        agent::before_being_traced();
    } else if (request == PTRACE_ATTACH || request == PTRACE_SEIZE) {
        const agent::AnnouncedTracing announced{pid};
        return agent::g_ptrace.get()(request, pid, address, data);
    }
    return agent::g_ptrace.get()(request, pid, address, data);
}
