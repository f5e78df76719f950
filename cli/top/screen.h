// The terminal while `sample top` has it: keys come one by one, unseen, and a second screen is
// shown, so that what was on the first one comes back.
//
// Whatever happens, the terminal is put back: when the Screen goes, and, after catch_crashes(), if
// this process crashes (SIGSEGV, abort() and their like). Nothing waits for a terminal that takes
// no more (Ctrl-S): what does not go through within a second is not shown.
#pragma once

#include "core/fd.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sample::cli {

/// One at a time. Not thread-safe, but for restore_terminal().
class Screen {
public:
    /// Whether standard output is a terminal that can do it: not if TERM is "dumb" or not set.
    [[nodiscard]] static bool is_possible();

    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    /// Puts the terminal back, for a while or for good. Twice does nothing.
    void leave();
    /// Takes it again.
    void enter();

    /// Replaces what is shown; `page` has no line break at its end.
    void show(std::string_view page);
    [[nodiscard]] std::size_t lines() const;

    /// Readable when a key was pressed; -1: there is no keyboard.
    [[nodiscard]] int keyboard() const { return keyboard_.get(); }
    /// What was typed. Empty: the terminal has gone.
    [[nodiscard]] std::string read_keys();

private:
    bool write(std::string_view bytes);

    Fd screen_;  ///< The terminal anew, so that not to wait for it is no one else's setting.
    Fd keyboard_;
    bool is_entered_ = false;
};

/// From here on a crash puts the terminal back before it ends this process. Before any thread reads
/// files (core/mapped_reading.h, which keeps what SIGBUS did before), and before there is a Screen.
void catch_crashes();

/// Puts the terminal back if a Screen has it, as well as that goes, before this process ends.
/// Async-signal-safe.
void restore_terminal() noexcept;

}  // namespace sample::cli
