// A command on a terminal of its own, for what happens at a keyboard.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace sample::e2e {

class Terminal {
public:
    /// Starts `words` as the foreground job of a new pseudo-terminal.
    explicit Terminal(const std::vector<std::string>& words);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Reads until `text` was seen `times` times; false if the terminal closed, or after a minute.
    [[nodiscard]] bool wait_for(std::string_view text, int times = 1);
    /// Types: "\x03" is Ctrl-C, "\x04" Ctrl-D.
    void type(std::string_view keys) const;
    /// Reads on until the command has ended; its status as waitpid gives it, -1 after a minute.
    [[nodiscard]] int finish();
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    /// Waits a little for more text; false if there will be none.
    bool read_more();

    Fd master_;
    pid_t pid_ = -1;
    std::string text_;
};

}  // namespace sample::e2e
