#include "core/boot_id.h"

#include "core/fd.h"
#include "core/units.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace sample {

std::vector<std::uint8_t> boot_id() {
    // "c0ffee00-…": 32 hexadecimal digits.
    const Fd file{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
    std::array<char, 64> text{};
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    const auto* const end = std::remove_if(text.begin(), text.begin() + std::max<ssize_t>(size, 0),
                                           [](unsigned char c) { return std::isxdigit(c) == 0; });
    std::vector<std::uint8_t> bytes;
    for (const char* at = text.begin(); end - at >= 2; at += 2) {
        std::from_chars(at, at + 2, bytes.emplace_back(), kHexadecimal);
    }
    return bytes;
}

}  // namespace sample
