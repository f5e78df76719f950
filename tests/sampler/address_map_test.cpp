#include "sampler/collector/code/address_map.h"

#include "sampler/collector/code/elf_facts.h"
#include "tests/sampler/recorder_fixture.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace sample::collector {
namespace {

constexpr pid_t kNobody = -1;

class AddressMapTest : public RecorderFixture {
protected:
    void SetUp() override { recorder.begin("test", ""); }
    void add(std::uint64_t start, std::uint64_t end, std::uint32_t module, std::uint64_t bias = 0) {
        map.add(start, {end, bias, ModuleId{module}, false});
    }
    [[nodiscard]] std::uint32_t module_at(std::uint64_t address) {
        const CodeAddress found = map.locate(Pc{address}, kNobody, recorder, 0);
        return found.module == recorder.pseudo(Pseudo::unknown_code) ? 0 : found.module.value;
    }
    AddressMap map;
};

TEST_F(AddressMapTest, finds_from_the_first_byte_to_the_last) {
    add(0x1000, 0x2000, 50);
    add(0x3000, 0x4000, 51);
    EXPECT_EQ(module_at(0xfff), 0U);
    EXPECT_EQ(module_at(0x1000), 50U);
    EXPECT_EQ(module_at(0x1fff), 50U);
    EXPECT_EQ(module_at(0x2000), 0U);
    EXPECT_EQ(module_at(0x3000), 51U);
    EXPECT_EQ(module_at(0x4000), 0U);
}

TEST_F(AddressMapTest, gives_the_modules_own_address) {
    add(0x5000, 0x6000, 50, 0x4000);
    EXPECT_EQ(map.locate(Pc{0x5123}, kNobody, recorder, 0).address, 0x1123U);
}

TEST_F(AddressMapTest, forgets_what_a_new_range_covers) {
    add(0x1000, 0x2000, 50);
    add(0x2000, 0x3000, 51);
    add(0x3000, 0x4000, 52);
    add(0x1800, 0x3001, 60);
    EXPECT_EQ(module_at(0x1000), 0U) << "half of it is gone, so all of it is";
    EXPECT_EQ(module_at(0x1800), 60U);
    EXPECT_EQ(module_at(0x2800), 60U);
    EXPECT_EQ(module_at(0x3800), 0U);
}

TEST_F(AddressMapTest, keeps_neighbours) {
    add(0x1000, 0x2000, 50);
    add(0x3000, 0x4000, 52);
    add(0x2000, 0x3000, 51);
    EXPECT_EQ(module_at(0x1fff), 50U);
    EXPECT_EQ(module_at(0x2000), 51U);
    EXPECT_EQ(module_at(0x3000), 52U);
}

TEST_F(AddressMapTest, reuses_a_range) {
    add(0x1000, 0x2000, 50);
    add(0x1000, 0x3000, 51);
    EXPECT_EQ(module_at(0x1000), 51U);
    EXPECT_EQ(module_at(0x2fff), 51U);
}

TEST_F(AddressMapTest, ignores_ranges_that_end_before_they_start) {
    add(0x2000, 0x2000, 50);
    add(0x3000, 0x2000, 50);
    EXPECT_EQ(module_at(0x2000), 0U);
    EXPECT_EQ(module_at(0x3000), 0U);
}

/// The first module that the loader names, the program: where it lies.
std::uint64_t own_bias() {
    std::uint64_t bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
            return 1;
        },
        &bias);
    return bias;
}

TEST_F(AddressMapTest, asks_the_kernel_for_what_it_does_not_know) {
    const auto here = reinterpret_cast<std::uint64_t>(&own_bias);
    const CodeAddress found = map.locate(Pc{here}, ::getpid(), recorder, 0);
    EXPECT_EQ(found.address, here - own_bias());
    read_back();
    std::array<char, 4096> path{};
    ASSERT_GT(::readlink("/proc/self/exe", path.data(), path.size() - 1), 0);
    EXPECT_EQ(path_of(found.module), path.data());
    const trace::Module& module = read.modules.at(found.module.value - 1);
    EXPECT_EQ(module.build_id, read_elf_facts(path.data()).build_id);
    EXPECT_TRUE(module.plugin);
}

TEST_F(AddressMapTest, takes_the_programs_own_file_that_is_mapped_again_for_no_plug_in) {
    std::array<char, 4096> path{};
    ASSERT_GT(::readlink("/proc/self/exe", path.data(), path.size() - 1), 0);
    trace::Module program;
    program.path = path.data();
    program.build_id = read_elf_facts(path.data()).build_id;
    program.id = recorder.module(program);
    add(0x1000, 0x2000, program.id.value);
    const auto here = reinterpret_cast<std::uint64_t>(&own_bias);
    const CodeAddress found = map.locate(Pc{here}, ::getpid(), recorder, 0);
    EXPECT_EQ(found.address, here - own_bias());
    EXPECT_EQ(found.module, program.id);
}

TEST_F(AddressMapTest, finds_code_made_at_run_time_but_asks_seldom) {
    constexpr std::uint64_t kSoon = 9'000'000;
    constexpr std::uint64_t kLater = 1'000'000'000'000;
    EXPECT_EQ(map.locate(Pc{0x10}, ::getpid(), recorder, 0).module,
              recorder.pseudo(Pseudo::unknown_code));
    void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(code, MAP_FAILED);
    const auto address = reinterpret_cast<std::uint64_t>(code) + 5;
    EXPECT_EQ(map.locate(Pc{address}, ::getpid(), recorder, kSoon).module,
              recorder.pseudo(Pseudo::unknown_code));
    const CodeAddress found = map.locate(Pc{address}, ::getpid(), recorder, kLater);
    EXPECT_EQ(found.address, address);
    ::munmap(code, 4096);
    read_back();
    EXPECT_EQ(path_of(found.module), "/tmp/perf-" + std::to_string(::getpid()) + ".map");
    EXPECT_EQ(read.modules.at(found.module.value - 1).kind, trace::ModuleKind::jit);
}

TEST_F(AddressMapTest, finds_code_made_at_run_time_where_libraries_may_be_unnamed) {
    const auto here = reinterpret_cast<std::uint64_t>(&own_bias);
    EXPECT_EQ(map.locate(Pc{here}, ::getpid(), recorder, 0, true).module,
              recorder.pseudo(Pseudo::unknown_code))
        << "a file";
    const int memory = ::memfd_create("code", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(memory, 4096), 0);
    // Shared memory of nobody's is "/dev/zero (deleted)", which PHP's compiler has.
    for (const auto& [fd, flags] : {std::pair{-1, MAP_PRIVATE | MAP_ANONYMOUS},
                                    {-1, MAP_SHARED | MAP_ANONYMOUS},
                                    {memory, MAP_PRIVATE}}) {
        void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, flags, fd, 0);
        ASSERT_NE(code, MAP_FAILED);
        AddressMap fresh;
        const CodeAddress found = fresh.locate(Pc{reinterpret_cast<std::uint64_t>(code) + 5},
                                               ::getpid(), recorder, 0, true);
        ::munmap(code, 4096);
        EXPECT_NE(found.module, recorder.pseudo(Pseudo::unknown_code)) << fd << ' ' << flags;
    }
    ::close(memory);
}

TEST_F(AddressMapTest, does_not_take_data_for_code) {
    int on_the_stack = 0;
    EXPECT_EQ(
        map.locate(Pc{reinterpret_cast<std::uint64_t>(&on_the_stack)}, ::getpid(), recorder, 0)
            .module,
        recorder.pseudo(Pseudo::unknown_code));
}

}  // namespace
}  // namespace sample::collector
