// Who woke a thread, as the recording shows it: one frame more, below the stack of the sleep.
#pragma once

#include "core/ids.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace sample::attach {

/// Not thread-safe.
class Wakers {
public:
    explicit Wakers(collector::Recorder& recorder) : recorder_{recorder} {}

    /// Below `sleep`, where the thread `waker` has ended it; 0: an interrupt has. The recording has
    /// begun.
    NodeId below(NodeId sleep, pid_t waker);
    /// Numbers of threads may be others' by now. Now and then.
    void forget_names() { modules_.clear(); }

private:
    /// More that come are all the same.
    static constexpr std::size_t kMostNamed = 4096;

    [[nodiscard]] ModuleId module_of(pid_t waker);
    [[nodiscard]] std::string name_of(pid_t waker) const;

    collector::Recorder& recorder_;
    std::unordered_map<pid_t, ModuleId> modules_;
    std::size_t named_ = 0;
};

}  // namespace sample::attach
