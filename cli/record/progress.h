// What is said on standard error while a recording is made, and at its end.
#pragma once

#include "cli/options/options.h"
#include "cli/record/recording.h"

#include <chrono>
#include <string>

namespace sample::cli {

/// One line that is written over once a second; nothing where standard error is no terminal.
class Countdown {
public:
    explicit Countdown(bool shown);

    void show(std::chrono::nanoseconds left) const;
    void clear() const;

private:
    bool shown_;
};

/// What failed, and the summary.
void tell(const FinishedRecording& finished, const RecordOptions& options, const std::string& path);

}  // namespace sample::cli
