#include "receivers/shared/code.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace sample::receivers {

Text words_of_code(const void* code) noexcept {
    Dl_info found{};
    std::array<char, 32> number;
    if (::dladdr(code, &found) == 0 || found.dli_fname == nullptr) {
        std::snprintf(number.data(), number.size(), "%p", code);
        return Text{number.data()};
    }
    if (found.dli_saddr == code && found.dli_sname != nullptr) {
        return Text{found.dli_sname};
    }
    const char* const slash = std::strrchr(found.dli_fname, '/');
    std::snprintf(number.data(), number.size(), "+%#tx",
                  static_cast<const char*>(code) - static_cast<const char*>(found.dli_fbase));
    return Text::joined({slash == nullptr ? found.dli_fname : slash + 1, number.data()});
}

}  // namespace sample::receivers
