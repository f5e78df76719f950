#include "receivers/unity/host/said.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace sample::unity {
namespace {

/// That has this address.
const char* library_of(const void* code) noexcept {
    Dl_info info{};
    return ::dladdr(code, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "a plug-in";
}

}  // namespace

void complain(const char* format, ...) noexcept {
    constexpr int kMostLines = 12;
    static constinit std::atomic<int> lines{0};
    if (lines.fetch_add(1, std::memory_order_relaxed) >= kMostLines) {
        return;
    }
    constexpr char kStart[] = "sample: unity: ";
    std::array<char, 1024> line{};
    std::copy(std::begin(kStart), std::end(kStart), line.begin());
    const std::size_t start = sizeof kStart - 1;
    std::va_list arguments;
    va_start(arguments, format);
    const int size =
        std::vsnprintf(line.data() + start, line.size() - start - 1, format, arguments);
    va_end(arguments);
    if (size < 0) {
        return;
    }
    const std::size_t end = std::min(start + static_cast<std::size_t>(size), line.size() - 2);
    line[end] = '\n';
    const ssize_t written = ::write(STDERR_FILENO, line.data(), end + 1);
    static_cast<void>(written);  // Nobody reads it, then.
}

void complain_of_exception(const void* callback) noexcept {
    static constinit std::atomic<const void*> last{nullptr};
    if (last.exchange(callback, std::memory_order_relaxed) != callback) {
        complain("a callback of %s has thrown an exception, which was dropped: catch it there",
                 library_of(callback));
    }
}

void complain_of_number(const void* callback) noexcept {
    complain("a callback of %s was refused, as four are registered there: unregister one first",
             library_of(callback));
}

}  // namespace sample::unity
