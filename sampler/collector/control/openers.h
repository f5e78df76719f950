// Who shares a session, in the order in which they have opened it. The first owns its frequency.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <list>
#include <string>

namespace sample::collector {

/// Not thread-safe.
class Openers {
public:
    static constexpr std::size_t kMost = 64;

    /// The process `pid` shares the session by `token`. False: there are too many.
    [[nodiscard]] bool open(const std::string& token, pid_t pid);
    void close(const std::string& token);
    /// Without a token one always may.
    [[nodiscard]] bool owns(const std::string& token);

private:
    struct Opener {
        std::string token;
        Fd pidfd;
    };
    void forget_the_dead();

    std::list<Opener> openers_;
};

}  // namespace sample::collector
