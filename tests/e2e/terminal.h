// A command on a terminal of its own, for what happens at a keyboard.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::e2e {

class Terminal {
public:
    using Settings = std::vector<std::pair<std::string, std::string>>;

    /// Starts `words` as the foreground job of a new pseudo-terminal, with `settings` in the
    /// environment.
    explicit Terminal(const std::vector<std::string>& words, const Settings& settings = {});
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Reads until `text` was seen `times` times; false if the terminal closed, or after a minute.
    [[nodiscard]] bool wait_for(std::string_view text, int times = 1);
    /// Types: "\x03" is Ctrl-C, "\x04" Ctrl-D.
    void type(std::string_view keys) const;
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Forgets what was seen.
    void forget() { text_.clear(); }
    void resize(int lines, int columns) const;
    /// The user closes the window, as it were.
    void hang_up() { master_.reset(); }
    /// Sends a signal to the command.
    void signal(int number) const;
    /// Sends a signal to the job in the foreground, which a shell may have started.
    void signal_job(int number) const;
    /// Whether lines are edited and echoed, as before a program that takes single keys.
    [[nodiscard]] bool edits_lines() const;
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
