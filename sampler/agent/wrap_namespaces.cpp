// unshare and setns: what they change, some of it only a process with one thread may. If there is a
// sampling thread, it ends before and begins anew after.
//
// Source: unshare(2), setns(2): EINVAL for CLONE_NEWUSER and others in a process with threads.
#include "sampler/agent/arming.h"
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"

#include <sched.h>

namespace sample::agent {
namespace {

constinit Real<int(int)> g_unshare{"unshare"};
constinit Real<int(int, int)> g_setns{"setns"};

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER int unshare(int flags) noexcept {
    auto* real = agent::g_unshare.get();
    const agent::WithoutSamplingThread alone;
    return real(flags);
}

SAMPLE_WRAPPER int setns(int fd, int kind) noexcept {
    auto* real = agent::g_setns.get();
    const agent::WithoutSamplingThread alone;
    return real(fd, kind);
}

}  // extern "C"
