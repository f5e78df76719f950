#include "sampler/source/task_state.h"

#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>

#include <array>
#include <cstddef>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

/// The word behind the last space; `text` then ends before it.
std::string_view take_last_word(std::string_view& text) noexcept {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) {
        text.remove_suffix(1);
    }
    const std::size_t space = text.rfind(' ');
    const std::size_t first = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view word{text.data() + first, text.size() - first};
    text = {text.data(), first};
    return word;
}

/// "0x…"; 0 for anything else.
std::uint64_t parse_hex(std::string_view word) noexcept {
    if (word.size() < 3 || word.size() > 18 || word[0] != '0' || word[1] != 'x') {
        return 0;
    }
    std::uint64_t value = 0;
    word.remove_prefix(2);
    for (const char digit : word) {
        const bool is_letter = digit >= 'a' && digit <= 'f';
        if (!is_letter && (digit < '0' || digit > '9')) {
            return 0;
        }
        value =
            value << 4U | static_cast<std::uint64_t>(is_letter ? digit - 'a' + 10 : digit - '0');
    }
    return value;
}

}  // namespace

std::string_view read_task_file(int folder, int tid, std::string_view name,
                                std::span<char> buffer) noexcept {
    std::array<char, 32> path{};
    std::array<char, 12> digits{};
    std::size_t count = 0;
    for (int rest = tid; rest != 0; rest /= 10) {
        digits[count++] = static_cast<char>('0' + rest % 10);
    }
    std::size_t size = 0;
    while (count != 0) {
        path[size++] = digits[--count];
    }
    path[size++] = '/';
    for (const char letter : name) {
        path[size++] = letter;
    }
    const long fd = raw_syscall(SYS_openat, folder, as_argument(path.data()), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return {};
    }
    const long bytes =
        raw_syscall(SYS_read, fd, as_argument(buffer.data()), static_cast<long>(buffer.size()));
    raw_syscall(SYS_close, fd);
    return bytes > 0 ? std::string_view{buffer.data(), static_cast<std::size_t>(bytes)}
                     : std::string_view{};
}

TaskState parse_task_state(std::string_view text) noexcept {
    if (text.starts_with("running")) {
        return {TaskState::Kind::awake, 0, 0};
    }
    const std::uint64_t pc = parse_hex(take_last_word(text));
    const std::uint64_t sp = parse_hex(take_last_word(text));
    if (pc == 0 || sp == 0) {
        return {};
    }
    return {TaskState::Kind::asleep, pc, sp};
}

TaskState task_state(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    return parse_task_state(read_task_file(folder, tid, "syscall", buffer));
}

std::uint64_t parse_processor_wait(std::string_view text) noexcept {
    const std::size_t space = text.find(' ');
    std::uint64_t value = 0;
    for (std::size_t at = space == std::string_view::npos ? text.size() : space + 1;
         at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    return value;
}

std::uint64_t processor_wait_ns(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    return parse_processor_wait(read_task_file(folder, tid, "schedstat", buffer));
}

char state_letter(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    const std::string_view text = read_task_file(folder, tid, "stat", buffer);
    // The name between the parentheses may hold anything.
    const std::size_t state = text.rfind(") ");
    return state != std::string_view::npos && state + 2 < text.size() ? text[state + 2] : '\0';
}

}  // namespace sample::source
