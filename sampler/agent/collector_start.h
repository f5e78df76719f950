// Starts a collector for a program that was run with the library preloaded and no front end.
#pragma once

namespace sample::agent {

/// Our end of a socket to the new collector, whose process is `collector`, or -1; then `problem`
/// (one line for people) says why. The program's own wait() never meets a child that it did not
/// make.
int start_collector(int& collector, const char*& problem) noexcept;

}  // namespace sample::agent
