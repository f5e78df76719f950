// Fuzzes walks with a memory against walks without: the input decides what changes.
#include "tests/unwind/memo_world.h"

#include <cstdio>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace testing = sample::unwind::testing;
    testing::World world{testing::Choices{std::span{data, size}}};
    while (!world.exhausted()) {
        const std::string difference = world.step();
        if (!difference.empty()) {
            std::fprintf(stderr, "%s\n", difference.c_str());
            std::abort();
        }
    }
    return 0;
}
