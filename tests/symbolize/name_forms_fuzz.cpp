// Any bytes as a name: no form of it fails, none is much longer than the name, and one pass does.
// One short input in eight is also tried as a name of 64 KiB that repeats it, where a second pass
// would show.
#include "symbolize/names/name_endings.h"
#include "symbolize/names/name_forms.h"
#include "symbolize/names/name_syntax.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>

namespace {

using namespace sample::symbolize;  // NOLINT(google-build-using-namespace): a program of one file

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

void try_name(std::string_view name) {
    constexpr std::size_t kMostGrowth = 6;
    require(in_form(name, NameForm::full) == name);
    const std::string no_arguments = in_form(name, NameForm::no_arguments);
    require(no_arguments.size() <= name.size());
    require(in_form(name, NameForm::brief).size() <= kMostGrowth * name.size());
    require(without_part(name).size() <= name.size());
    require(is_called_part(name) <= (without_part(name) != name));
    require(collapse(name, BracketKind::arguments, "").size() <= name.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kSize = std::size_t{64} << 10;
    constexpr std::size_t kShort = 16;
    constexpr unsigned kOneIn = 8;
    const std::string_view name{static_cast<const char*>(static_cast<const void*>(data)), size};
    try_name(name);
    const bool is_chosen = std::accumulate(data, data + size, 0U) % kOneIn == 0;
    if (size > 0 && size <= kShort && is_chosen) {
        std::string repeated;
        while (repeated.size() + size <= kSize) {
            repeated += name;
        }
        try_name(repeated);
    }
    return 0;
}
