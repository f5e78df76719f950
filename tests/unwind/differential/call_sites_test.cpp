// What the code before a return address says, on made-up code and on this program's own.
#include "tests/unwind/differential/call_sites.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <string>

namespace sample::unwind::differential {
namespace {

/// This program, where it runs.
class OwnCode : public ::testing::Test {
protected:
    void SetUp() override {
        const Image* image = images.find("/proc/self/exe");
        ASSERT_NE(image, nullptr);
        std::uint64_t bias = 0;
        // The program itself is listed first.
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* out) {
                *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
                return 1;
            },
            &bias);
        process.map(*image, bias);
    }

    ImageStore images;
    Process process;
    CallSites call_sites{process};
};

[[gnu::noinline]] std::uint64_t where_from() {
    return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
[[gnu::noinline]] std::uint64_t somewhere_else() {
    return reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) + 1;
}

std::uint64_t inside(std::uint64_t (*function)()) {
    return reinterpret_cast<std::uint64_t>(function) + 1;
}

using Function = std::uint64_t();

TEST_F(OwnCode, proves_a_direct_call_of_the_callee) {
    const std::uint64_t caller = where_from();
    EXPECT_EQ(call_sites.link(inside(where_from), caller), Link::proven);
    // It might have jumped on to the other one.
    EXPECT_EQ(call_sites.link(inside(somewhere_else), caller), Link::possible);
}

TEST_F(OwnCode, allows_a_call_through_a_pointer) {
    Function* volatile pointer = where_from;
    EXPECT_EQ(call_sites.link(inside(where_from), pointer()), Link::possible);
}

TEST_F(OwnCode, refutes_what_no_call_precedes) {
    const std::uint64_t caller = where_from();
    EXPECT_EQ(call_sites.link(inside(where_from), caller + 1), Link::refuted);
    EXPECT_EQ(call_sites.link(inside(where_from), caller - 1), Link::refuted);
    EXPECT_EQ(call_sites.link(inside(where_from), inside(where_from)), Link::refuted);
}

TEST_F(OwnCode, refutes_data_and_addresses_where_nothing_is) {
    static const std::uint64_t data = 1;
    EXPECT_EQ(call_sites.link(inside(where_from), reinterpret_cast<std::uint64_t>(&data)),
              Link::refuted);
    EXPECT_EQ(call_sites.link(inside(where_from), 1), Link::refuted);
}

// What a C library's restorer of signals is; never run. A sanitizer would put its own word first.
__attribute__((naked, noinline, no_sanitize("undefined"))) void trampoline() {
    asm("mov $15, %rax\n\tsyscall");
}

TEST_F(OwnCode, knows_that_signals_are_no_calls) {
    const auto address = reinterpret_cast<std::uint64_t>(&trampoline);
    EXPECT_EQ(call_sites.link(inside(where_from), address), Link::unknown);
    for (const std::uint64_t reached : {0UL, 7UL, 9UL}) {
        EXPECT_EQ(call_sites.link(address + reached, inside(where_from)), Link::unknown);
    }
}

TEST_F(OwnCode, knows_nothing_of_code_made_at_run_time) {
    process.map_anonymous({0x10000, 0x20000});
    EXPECT_EQ(call_sites.link(inside(where_from), 0x12345), Link::unknown);
}

}  // namespace
}  // namespace sample::unwind::differential
