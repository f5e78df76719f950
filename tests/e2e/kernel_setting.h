// A setting of the kernel, changed for the length of a test.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <string>

namespace sample::e2e {

/// Writes `value` to /proc/sys/kernel/`name` and puts the old value back at its end, by a process
/// of its own: it is put back too when the test crashes or is killed. Waits for other users of the
/// same setting, in whichever test program they are.
class KernelSetting {
public:
    KernelSetting(const std::string& name, const std::string& value);
    ~KernelSetting();
    KernelSetting(const KernelSetting&) = delete;
    KernelSetting& operator=(const KernelSetting&) = delete;

    /// False if this user may not change it; problem() says why.
    [[nodiscard]] bool is_set() const { return problem_.empty(); }
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    Fd keeper_;  ///< Closing it tells the process that puts the old value back.
    pid_t restorer_ = -1;
    std::string problem_;
};

}  // namespace sample::e2e
