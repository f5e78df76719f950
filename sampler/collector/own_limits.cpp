#include "sampler/collector/own_limits.h"

#include <sched.h>
#include <sys/resource.h>

namespace sample::collector {

void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void yield_to_programs() {
    if (::sched_getscheduler(0) == SCHED_OTHER) {
        const sched_param none{};
        static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &none));
    }
}

InFront::InFront() : before_{::getpriority(PRIO_PROCESS, 0)} {
    constexpr int kFirst = -20;
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kFirst));
}

InFront::~InFront() {
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, before_));
}

}  // namespace sample::collector
