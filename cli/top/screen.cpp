#include "cli/top/screen.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace sample::cli {
namespace {

// The second screen, no cursor, and lines that end at the right edge instead of going on below.
// Source: XTerm Control Sequences, "DEC Private Mode Set"; tmux and screen know them, too.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kPatienceMs = 1000;

constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/// For restore_terminal(), which may run in a signal handler: what it needs is here before it may
/// be called, and stays.
struct Taken {
    std::atomic<bool> is_taken{false};  ///< Its release publishes the others.
    int screen = -1;
    int keyboard = -1;
    termios before{};
};
Taken g_taken;

void on_crash(int signal) {
    restore_terminal();
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

/// The terminal at `path` anew; where that is not allowed (after su), `otherwise`.
Fd open_terminal(const char* path, int flags, int otherwise) {
    Fd opened{::open(path, flags | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)};
    return opened.is_open() ? std::move(opened) : Fd{::fcntl(otherwise, F_DUPFD_CLOEXEC, 0)};
}

Fd open_keyboard() {
    return ::isatty(STDIN_FILENO) == 1
               ? open_terminal("/proc/self/fd/0", O_RDONLY, STDIN_FILENO)
               : Fd{::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)};
}

}  // namespace

void restore_terminal() noexcept {
    // Acquire: pairs with the release in enter().
    if (g_taken.is_taken.exchange(false, std::memory_order_acq_rel)) {
        static_cast<void>(!::write(g_taken.screen, kLeave.data(), kLeave.size()));
        ::tcsetattr(g_taken.keyboard, TCSANOW, &g_taken.before);
    }
}

void catch_crashes() {
    for (const int signal : kCrashes) {
        struct sigaction action {};
        action.sa_handler = on_crash;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
        ::sigaction(signal, &action, nullptr);
    }
}

bool Screen::is_possible() {
    const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
    return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && *kind != '\0' &&
           std::string_view{kind} != "dumb";
}

Screen::Screen()
    : screen_{open_terminal("/proc/self/fd/1", O_WRONLY, STDOUT_FILENO)},
      keyboard_{open_keyboard()} {
    enter();
}

Screen::~Screen() {
    leave();
}

void Screen::enter() {
    if (is_entered_) {
        return;
    }
    is_entered_ = true;
    g_taken.screen = screen_.get();
    g_taken.keyboard = keyboard_.is_open() ? keyboard_.get() : screen_.get();
    if (::tcgetattr(g_taken.keyboard, &g_taken.before) == 0) {
        termios raw = g_taken.before;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        g_taken.is_taken.store(true, std::memory_order_release);
        ::tcsetattr(g_taken.keyboard, TCSANOW, &raw);
    }
    write(kEnter);
}

void Screen::leave() {
    if (!is_entered_) {
        return;
    }
    is_entered_ = false;
    write(kLeave);
    if (g_taken.is_taken.exchange(false, std::memory_order_acq_rel)) {
        ::tcsetattr(g_taken.keyboard, TCSANOW, &g_taken.before);
    }
}

void Screen::show(std::string_view page) {
    std::string bytes = "\x1b[H";
    for (const char byte : page) {
        if (byte == '\n') {
            bytes += "\x1b[K\r\n";
        } else {
            bytes += byte;
        }
    }
    bytes += "\x1b[K\x1b[J";
    write(bytes);
}

std::size_t Screen::lines() const {
    constexpr std::size_t kUsual = 24;
    winsize size{};
    return ::ioctl(screen_.get(), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

std::string Screen::read_keys() {
    std::array<char, 256> bytes{};
    const ssize_t got = ::read(keyboard_.get(), bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
}

bool Screen::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(screen_.get(), bytes.data(), bytes.size());
        if (put > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(put));
            continue;
        }
        pollfd room{screen_.get(), POLLOUT, 0};
        const bool waits = put < 0 && (errno == EAGAIN || errno == EINTR);
        if (!waits || ::poll(&room, 1, kPatienceMs) <= 0) {
            return false;
        }
    }
    return true;
}

}  // namespace sample::cli
