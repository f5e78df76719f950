// Whether what a program passes to the kernel can be read: the kernel answers EFAULT where it
// cannot, and so must we, not die of it. The kernel is asked, once a page. Async-signal-safe.
#pragma once

#include "unwind/walk/stack_memory.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sample::agent {

class Readable {
public:
    [[nodiscard]] bool object(const void* object, std::size_t bytes) noexcept {
        const auto first = reinterpret_cast<std::uint64_t>(object);
        for (std::uint64_t page = page_of(first); page <= page_of(first + bytes - 1);
             page += kPage) {
            if (!is_readable(page)) {
                return false;
            }
        }
        return true;
    }

    template <class T>
    [[nodiscard]] bool object(const T* pointer) noexcept {
        return object(pointer, sizeof *pointer);
    }

    /// To its end.
    [[nodiscard]] bool text(const char* text) noexcept {
        for (;;) {
            const auto at = reinterpret_cast<std::uint64_t>(text);
            if (!is_readable(page_of(at))) {
                return false;
            }
            const std::size_t rest = kPage - at % kPage;
            if (memchr(text, '\0', rest) != nullptr) {
                return true;
            }
            text += rest;
        }
    }

    /// A list of texts, to the null pointer. No list is an empty one, as for the kernel.
    [[nodiscard]] bool list(char* const* list) noexcept {
        for (; list != nullptr; ++list) {
            if (!object(list)) {
                return false;
            }
            if (*list == nullptr) {
                break;
            }
            if (!text(*list)) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr std::uint64_t kPage = 4096;
    static std::uint64_t page_of(std::uint64_t address) noexcept { return address & ~(kPage - 1); }

    bool is_readable(std::uint64_t page) noexcept {
        if (page == last_ || page == before_last_) {
            return true;
        }
        if (!unwind::readable_page(page)) {
            return false;
        }
        before_last_ = last_;
        last_ = page;
        return true;
    }

    // The list and its texts take turns.
    std::uint64_t last_ = 1;
    std::uint64_t before_last_ = 1;
};

}  // namespace sample::agent
