// Any bytes as a perf map, and as /proc/kallsyms: every address gets an answer whose function is
// there, and every name a readable form.
#include "symbolize/runtime/runtime_code.h"
#include "symbolize/runtime/runtime_names.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using sample::symbolize::RuntimeCode;

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

void require_whole(const RuntimeCode& code, std::size_t addresses) {
    require(code.locations.size() == addresses);
    for (const auto& place : code.locations) {
        require(!place || place->function < code.functions.size());
    }
    for (const RuntimeCode::Function& function : code.functions) {
        const std::string_view name{function.name};
        require(!name.empty() && name.size() <= 100'000);
        (void)sample::symbolize::readable_name(name);
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    constexpr std::uint64_t kAddresses[] = {0,      1,          0x10, 0x1000, 0x1001,
                                            0xffff, 0xffffffff, 0x10, ~0ULL,  0xffffffff81000100};
    require_whole(sample::symbolize::read_perf_map(text, kAddresses), std::size(kAddresses));
    require_whole(sample::symbolize::read_kallsyms(text, kAddresses), std::size(kAddresses));
    (void)sample::symbolize::readable_name(text);
    return 0;
}
