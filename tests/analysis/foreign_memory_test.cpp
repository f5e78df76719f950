// Memory of another program's file: its stacks, named by the files of its modules.
#include "analysis/load_profile.h"
#include "tests/trace/engine_file.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sample::analysis {
namespace {

using trace::FieldType;

/// Stacks of one frame each, behind a call that begins at one of `calls`.
std::vector<std::vector<std::string>> stacks_of(const std::string& module, std::uint64_t base,
                                                const std::vector<std::uint64_t>& calls) {
    trace::EngineFile file;
    const auto& load =
        file.type("Diagnostics", "ModuleLoad", true,
                  {{"Base", FieldType::u64}, {"Size", FieldType::u32}, {"Name", FieldType::text}});
    const auto& spec = file.type("Memory", "CallstackSpec", false,
                                 {{"CallstackId", FieldType::u32}, {"Frames", FieldType::bytes}});
    const auto& alloc = file.type("Memory", "Alloc", false,
                                  {{"Address", FieldType::u64},
                                   {"CallstackId", FieldType::u32},
                                   {"Size", FieldType::u32},
                                   {"AlignmentPow2_SizeLower", FieldType::u8},
                                   {"RootHeap", FieldType::u8}});
    file.event(1, load, {base, UINT32_MAX}, {trace::bytes_of(module)});
    for (std::uint32_t i = 1; i <= calls.size(); ++i) {
        std::vector<std::byte> frame;
        trace::wire::append(frame, calls[i - 1] + 1, 8);
        file.event(5, spec, {i}, {frame});
        // The first stack has most, and is listed first.
        file.event(5, alloc, {std::uint64_t{0x1000} * i, i, 1000 - i, 0, 0}, {});
    }
    const std::string path = testing::TempDir() + "foreign-" + std::to_string(::getpid());
    std::ofstream{path}.write(reinterpret_cast<const char*>(file.bytes().data()),
                              static_cast<std::streamsize>(file.bytes().size()));
    auto said = load_program_events(path, {}, ProgramPart::memory);
    std::filesystem::remove(path);
    std::vector<std::vector<std::string>> names;
    EXPECT_TRUE(said) << said.error().message();
    if (said) {
        for (const MemoryStack& stack : said->memory_stacks) {
            names.push_back(stack.frames);
        }
    }
    return names;
}

using Names = std::vector<std::vector<std::string>>;

TEST(ForeignMemory, is_named_by_the_files_of_its_modules) {
    // As if this program had written the file.
    Dl_info here{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&::dladdr), &here), 0);
    ASSERT_NE(here.dli_sname, nullptr);
    const auto base = reinterpret_cast<std::uintptr_t>(here.dli_fbase);
    const auto function = reinterpret_cast<std::uintptr_t>(here.dli_saddr);
    const Names names =
        stacks_of(std::filesystem::canonical(here.dli_fname), base, {function, function + 1, 0x10});
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names[0], std::vector<std::string>{"dladdr"});
    EXPECT_EQ(names[1], std::vector<std::string>{"0x11"});
}

TEST(ForeignMemory, is_of_a_module_and_a_number_where_its_file_is_not_found) {
    EXPECT_EQ(stacks_of("/nowhere/libgame.so", 0x7000'0000, {0x7000'1234, 0x7000'0000}),
              (Names{{"libgame.so+0x1234"}, {"libgame.so+0x0"}}));
}

}  // namespace
}  // namespace sample::analysis
