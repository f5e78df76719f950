// What `sample record` does with signals while its command runs.
//
//   Ctrl-C, Ctrl-\    the terminal sends them to the command, too: the first one is the command's,
//   the second
//                     ends the profiling, later ones are ours as usual
//   SIGTERM, SIGHUP   sent to us alone by timeout, a supervisor, …: passed on to the command
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <csignal>

namespace sample::cli {

class RecordSignals {
public:
    /// Blocks these signals and reads them from a descriptor. Call it while the process has one
    /// thread.
    RecordSignals();

    /// The mask that the command is to inherit.
    [[nodiscard]] const sigset_t& mask_before() const { return before_; }
    [[nodiscard]] int fd() const { return fd_.get(); }

    /// Reads what has come. True: end the profiling now.
    bool handle(pid_t command);

    /// The profiling is over, the command may not be: from here on signals end us, as they would
    /// anybody.
    void command_goes_on();

private:
    sigset_t before_{};
    Fd fd_;
    int interrupts_ = 0;
};

}  // namespace sample::cli
