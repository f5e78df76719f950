// Programs of the session that run without the agent: static, setuid, another machine's.
//
// Whoever starts one announces it just before (agent/processes/exec_target.h). It is listed once it
// is seen to run, or has been and is gone; an exec that failed is taken back, or never seen to run.
// What a process said just before its end may be heard after the end is seen: what is gone counts
// once it has been so for a while. Not thread-safe.
#pragma once

#include "sampler/control/protocol.h"
#include "trace/records.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace sample::collector {

class UnprofiledPrograms {
public:
    /// `peer`: who said it, as this process's namespace numbers it.
    void announced(const control::Unprofiled& said, pid_t peer, std::uint64_t now_ns);

    /// The process says Hello: the program before it did run.
    void has_run(pid_t pid);

    enum class Heard { up_to_a_moment_ago, everything };
    /// What is certain by now; it is forgotten here. Once everything has been heard: whatever still
    /// runs another program than was announced never ran it.
    [[nodiscard]] std::vector<trace::UnprofiledProgram> settle(std::uint64_t now_ns, Heard heard);

    /// Announced when more than kMost were waited for: nobody knows whether they ran.
    [[nodiscard]] std::uint64_t overlooked() const { return overlooked_; }
    static constexpr std::size_t kMost = 4096;

private:
    struct Pending {
        trace::UnprofiledProgram program;
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        bool ran = false;
        std::optional<std::uint64_t> gone_since_ns;
    };
    std::vector<Pending> pending_;
    std::uint64_t overlooked_ = 0;
};

/// For people.
[[nodiscard]] const char* describe(control::NotProfiled reason);

}  // namespace sample::collector
