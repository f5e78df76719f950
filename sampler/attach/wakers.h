// Who woke a thread, as the recording shows it: one frame more, below the stack of the sleep.
#pragma once

#include "core/ids.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::attach {

/// Not thread-safe.
class Wakers {
public:
    explicit Wakers(collector::Recorder& recorder) : recorder_{recorder} {}

    /// What a thread under watch is called, as long as it lives, and a moment more: a thread that
    /// ends wakes who waits for that.
    void name(pid_t tid, std::string name) { names_.insert_or_assign(tid, std::move(name)); }
    void forget(pid_t tid) { ended_.push_back(tid); }
    /// The frame of the thread `waker`; 0: of an interrupt. To be asked for while that lives, if
    /// possible, and after the recording's begin.
    [[nodiscard]] ModuleId frame_of(pid_t waker);
    /// What names threads may have changed. Now and then.
    void look_again();

private:
    /// More that come are all the same.
    static constexpr std::size_t kMostNamed = 4096;

    [[nodiscard]] std::string text_of(pid_t waker) const;

    collector::Recorder& recorder_;
    std::unordered_map<pid_t, std::string> names_;
    std::vector<pid_t> ended_;
    std::unordered_map<pid_t, ModuleId> frames_;
    std::size_t named_ = 0;
};

}  // namespace sample::attach
