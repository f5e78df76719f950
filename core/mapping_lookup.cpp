#include "core/mapping_lookup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace sample {
namespace {

/// Longer ones are cut off: nothing but the file's name is that long.
constexpr std::size_t kLongestLine = 512;
constexpr std::size_t kChunkBytes = 4096;

std::uintptr_t take_hexadecimal(std::string_view& text) noexcept {
    std::uintptr_t value = 0;
    while (!text.empty()) {
        const char letter = text.front();
        const bool is_digit = letter >= '0' && letter <= '9';
        if (!is_digit && !(letter >= 'a' && letter <= 'f')) {
            break;
        }
        value =
            value * 16 + static_cast<std::uintptr_t>(is_digit ? letter - '0' : letter - 'a' + 10);
        text.remove_prefix(1);
    }
    return value;
}

/// Behind five words: range, permissions, offset, device, inode.
std::string_view name_in(std::string_view line) noexcept {
    for (int word = 0; word < 5; ++word) {
        line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    }
    return line;
}

/// "7f12-7f34 r--p 00001000 fe:01 1234    /usr/lib/x.so"
bool is_line_of(std::uintptr_t address, std::string_view line, FoundMapping& found,
                std::span<char> name) noexcept {
    std::string_view rest = line;
    const std::uintptr_t start = take_hexadecimal(rest);
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
    const std::uintptr_t end = take_hexadecimal(rest);
    if (address < start || address >= end) {
        return false;
    }
    constexpr std::size_t kPrivateMark = 4;  // " r--p"
    found = {start, end, rest.size() > kPrivateMark && rest[kPrivateMark] == 'p'};
    if (!name.empty()) {
        const std::string_view file = name_in(line);
        const std::size_t size = std::min(file.size(), name.size() - 1);
        std::memcpy(name.data(), file.data(), size);
        name[size] = '\0';
    }
    return true;
}

}  // namespace

bool find_mapping(std::uintptr_t address, FoundMapping& found, std::span<char> name) noexcept {
    const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char chunk[kChunkBytes];
    char line[kLongestLine];
    std::size_t length = 0;
    bool is_found = false;
    while (!is_found) {
        const ssize_t got = ::read(fd, chunk, sizeof chunk);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            break;
        }
        for (ssize_t i = 0; i < got && !is_found; ++i) {
            if (chunk[i] == '\n') {
                is_found = is_line_of(address, {line, length}, found, name);
                length = 0;
            } else if (length < sizeof line) {
                line[length++] = chunk[i];
            }
        }
    }
    ::close(fd);
    return is_found;
}

}  // namespace sample
