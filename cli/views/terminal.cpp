#include "cli/views/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace sample::cli {
namespace {

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value{environment(name)};
        if (value.empty()) {
            continue;
        }
        std::transform(value.begin(), value.end(), value.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
    return false;
}

std::size_t terminal_width(int fd) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    constexpr std::size_t kUsual = 80;
    std::size_t columns = 0;
    const std::string_view text = environment("COLUMNS");
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), columns);
    return parsed.ec == std::errc{} && columns > 0 ? columns : kUsual;
}

constexpr std::array<std::string_view, 7> kSequenceOfStyle = {
    "", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[1;33m", "\x1b[32m"};

}  // namespace

Terminal detect_terminal(int fd, ColorMode mode) {
    Terminal terminal;
    const bool is_terminal = ::isatty(fd) == 1;
    terminal.utf8 = locale_is_utf8();
    terminal.width = is_terminal ? terminal_width(fd) : 0;
    terminal.color = mode == ColorMode::always ||
                     (mode == ColorMode::automatic && is_terminal &&
                      environment("NO_COLOR").empty() && environment("TERM") != "dumb");
    return terminal;
}

std::string styled(const Terminal& terminal, Style style, std::string_view text) {
    if (!terminal.color || style == Style::plain || text.empty()) {
        return std::string{text};
    }
    std::string result{kSequenceOfStyle.at(static_cast<std::size_t>(style))};
    result += text;
    result += "\x1b[0m";
    return result;
}

}  // namespace sample::cli
