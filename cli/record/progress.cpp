#include "cli/record/progress.h"

#include "cli/output.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace sample::cli {

Countdown::Countdown(bool shown) : shown_{shown && ::isatty(STDERR_FILENO) == 1} {}

void Countdown::show(std::chrono::nanoseconds left) const {
    if (shown_) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
            left + std::chrono::seconds{1} - std::chrono::nanoseconds{1});
        fmt::print(stderr, "\r\x1b[Ksample: {}:{:02} left", seconds.count() / 60,
                   seconds.count() % 60);
    }
}

void Countdown::clear() const {
    if (shown_) {
        std::fputs("\r\x1b[K", stderr);
    }
}

void tell(const FinishedRecording& finished, const RecordOptions& options,
          const std::string& path) {
    for (const std::string& warning : finished.warnings) {
        print_error(warning);
    }
    for (const Error& error : finished.errors) {
        print_error(error.message());
    }
    if (finished.profile) {
        ViewOptions view{detect_terminal(STDERR_FILENO, options.color)};
        view.kept_file = path;
        view.advice = finished.advice;
        const std::string text = summary_view(*finished.profile, view);
        std::fputs(text.c_str(), stderr);
    }
}

}  // namespace sample::cli
