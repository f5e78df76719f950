#include "core/boot_id.h"
#include "symbolize/runtime/runtime_code.h"
#include "symbolize/symbolizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace sample::symbolize {
namespace {

constexpr const char* kKallsyms =
    "0000000000001000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t do_one_initcall\n"
    "ffffffff81000200 T __x64_sys_read\n"
    "ffffffff81000200 W sys_read\n"
    "ffffffff81000300 t helper.constprop.0\n"
    "ffffffff81000400 D some_data\n"
    "this is no symbol\n"
    "ffffffffc0001000 t ext4_read_iter\t[ext4]\n"
    "ffffffffc0001100 d ext4_data\t[ext4]\n"
    "ffffffffc0002000 t bpf_prog_1234_trace\t[bpf]\n"
    "ffffffffc0003000 t last\t[bpf]\n";

std::string name_at(std::uint64_t address, std::string_view text = kKallsyms) {
    const RuntimeCode code = read_kallsyms(text, {&address, 1});
    const auto& place = code.locations.at(0);
    return place ? code.functions.at(place->function).name : "";
}

TEST(Kallsyms, names_up_to_the_next_symbol) {
    EXPECT_EQ(name_at(0xffffffff80ffffff), "");
    EXPECT_EQ(name_at(0xffffffff81000100), "do_one_initcall");
    EXPECT_EQ(name_at(0xffffffff810001ff), "do_one_initcall");
    EXPECT_EQ(name_at(0xffffffff81000300), "helper.constprop.0");
    EXPECT_EQ(name_at(0xffffffff81000400), "") << "data";
    EXPECT_EQ(name_at(0xffffffffc0003000), "") << "nobody knows where it ends";
}

TEST(Kallsyms, says_which_module) {
    EXPECT_EQ(name_at(0xffffffffc0001004), "ext4_read_iter [ext4]");
    EXPECT_EQ(name_at(0xffffffffc0002004), "bpf_prog_1234_trace [bpf]");
}

TEST(Kallsyms, chooses_among_names_as_of_a_program) {
    EXPECT_EQ(name_at(0xffffffff81000000), "_stext");
    EXPECT_EQ(name_at(0xffffffff81000200), "__x64_sys_read") << "global before weak";
}

TEST(Kallsyms, tells_that_it_is_hidden) {
    const std::uint64_t address = 0xffffffff81000100;
    EXPECT_TRUE(read_kallsyms("0000000000000000 T _text\n0000000000000000 t foo\n", {&address, 1})
                    .is_hidden);
    EXPECT_FALSE(read_kallsyms(kKallsyms, {&address, 1}).is_hidden);
    EXPECT_FALSE(read_kallsyms("", {&address, 1}).is_hidden);
}

/// A function of the running kernel, and its address; 0 where that may not be seen.
std::uint64_t address_of(const std::string& wanted) {
    std::ifstream file{"/proc/kallsyms"};
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words{line};
        std::string address;
        std::string type;
        std::string name;
        words >> address >> type >> name;
        if (name == wanted) {
            return std::stoull(address, nullptr, 16);
        }
    }
    return 0;
}

TEST(KernelSymbols, name_the_running_kernel) {
    const std::uint64_t address = address_of("vfs_read");
    constexpr std::uint64_t kLowBits = ~(std::uint64_t{3} << 62U);
    const std::uint64_t asked[] = {(address + 1) & kLowBits, 0x1234};
    ModuleIdentity kernel{"[kernel]", boot_id()};
    kernel.kind = CodeKind::kernel;
    ASSERT_EQ(kernel.build_id.size(), 16U);
    const ModuleSymbols result = symbolize(kernel, asked);
    ASSERT_EQ(result.symbols.runs.size(), 2U);
    const auto name_of = [&](std::size_t i) {
        return result.symbols.functions.at(result.symbols.frames_of(i)[0].function).name;
    };
    EXPECT_EQ(name_of(1), "[kernel]+0xc000000000001234");
    if (address == 0) {
        EXPECT_NE(result.problem.find("kptr_restrict"), std::string::npos);
        GTEST_SKIP() << "/proc/kallsyms is closed to this user";
    }
    EXPECT_EQ(name_of(0), "vfs_read");
    EXPECT_EQ(result.problem, "");
}

TEST(KernelSymbols, are_not_those_of_another_boot) {
    const std::uint64_t address = 0x3fffffff81000100;
    ModuleIdentity kernel{"[kernel]", std::vector<std::uint8_t>(16, 1)};
    kernel.kind = CodeKind::kernel;
    const ModuleSymbols result = symbolize(kernel, {&address, 1});
    EXPECT_NE(result.problem.find("booted since"), std::string::npos);
    EXPECT_EQ(result.symbols.functions.at(0).name, "[kernel]+0xffffffff81000100");
}

}  // namespace
}  // namespace sample::symbolize
