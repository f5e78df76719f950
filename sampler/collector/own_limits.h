// What a process that records does to itself first.
#pragma once

namespace sample::collector {

/// Each event of a thread is a descriptor. After the command is made, which gets the limit as it
/// was.
void raise_descriptor_limit();

/// Nobody waits for the calling thread: woken by the end of a process, say, it does not take the
/// processor from the one that waited for that. So is what that thread starts from then on.
/// Source: sched(7), SCHED_BATCH.
void yield_to_programs();

/// While it lives, the thread that made it gets a processor before others, if this user may: for
/// what is short, and should be done before the programs have gone on for long.
/// Source: setpriority(2).
class InFront {
public:
    InFront();
    ~InFront();
    InFront(const InFront&) = delete;
    InFront& operator=(const InFront&) = delete;

private:
    int before_;
};

}  // namespace sample::collector
