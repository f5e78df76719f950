// The calls by which a program confines itself: prctl, and seccomp(2), which libc has no function
// for; and by their numbers those that change its rights. See confinement.h, wrap_rights.cpp.
#include "sampler/agent/arming.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/export.h"
#include "sampler/agent/numbered_call.h"
#include "sampler/agent/real.h"
#include "sampler/agent/rights.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdarg>

namespace sample::agent {
namespace {

SAMPLE_REAL constinit Real<int(int, unsigned long, unsigned long, unsigned long, unsigned long)>
    g_prctl{"prctl"};

/// Source: seccomp(2), Return value: of TSYNC a thread's id is an error, of NEW_LISTENER a
/// descriptor is none.
bool is_success(const ConfiningCall& call, long result) noexcept {
    return result == 0 ||
           (result > 0 && call.number == SYS_seccomp &&
            (static_cast<unsigned long>(call.b) & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
}

/// `real()` with what has to be done around it.
template <class Function>
auto confine(const ConfiningCall& call, Function real) noexcept {
    // First: it may end the sampling thread for good.
    const Confining confining{call};
    const WithoutSamplingThread alone{uses_sampling_thread() &&
                                      changes_rights(call.number, call.a, call.b)};
    const auto result = real();
    confining.done(is_success(call, result));
    return result;
}

}  // namespace

long confine_by_number(const NumberedCall& call) noexcept {
    return confine({call.number, call.a, call.b, call.c}, [&] { return make(call); });
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    const auto a = va_arg(list, unsigned long);
    const auto b = va_arg(list, unsigned long);
    const auto c = va_arg(list, unsigned long);
    const auto d = va_arg(list, unsigned long);
    va_end(list);
    return agent::confine({SYS_prctl, option, static_cast<long>(a), static_cast<long>(b)},
                          [&] { return agent::g_prctl.get()(option, a, b, c, d); });
}

}  // extern "C"
