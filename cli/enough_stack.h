// Names and stacks are as deep as other people's programs are, and `ulimit -s` is meant for the
// command, which inherits it.
#pragma once

#include <functional>

namespace sample::cli {

/// Runs `body` in this thread, with 8 MiB of stack: on one of ours if the limit is smaller. Threads
/// that it makes have as much. Where there is no memory for that, it is run as it is.
void on_enough_stack(const std::function<void()>& body);

}  // namespace sample::cli
