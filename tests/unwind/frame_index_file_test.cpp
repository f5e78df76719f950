// Indexes of real libraries: one source (targets/frames.c), linked with its frame descriptions in
// .eh_frame_hdr, in .eh_frame without it, in .debug_frame, and in a compressed .debug_frame.
#include "core/fd.h"
#include "tests/built.h"
#include "tests/unwind/walk_fixture.h"
#include "unwind/cfi/row.h"
#include "unwind/host/elf_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sample::unwind::testing {
namespace {

constexpr std::array<const char*, 4> kFunctions{"frames_plain", "frames_saving", "frames_growing",
                                                "frames_large"};
using Leaf = void(void*);
using Function = void(Leaf*, void*);

/// A library that stays loaded while this lives.
class Library {
public:
    explicit Library(const char* path) : handle_{dlopen(path, RTLD_NOW)} {}
    ~Library() {
        if (handle_ != nullptr) {
            dlclose(handle_);
        }
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    [[nodiscard]] Function* function(const char* name) const {
        return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    }
    [[nodiscard]] std::uint64_t bias() const {
        link_map* map = nullptr;
        return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_addr : 0;
    }

private:
    void* handle_;
};

/// The rows of each byte of a function, by the file alone.
std::vector<cfi::Row> rows_of(const char* path, const char* name) {
    const Library library{path};
    const auto image = ElfImage::map(path);
    std::vector<cfi::Row> rows;
    if (!image || library.function(name) == nullptr) {
        return rows;
    }
    const Module module = image->module_at(library.bias());
    const std::uint64_t begin =
        reinterpret_cast<std::uint64_t>(library.function(name)) + module.image_delta;
    cfi::Fde fde;
    if (cfi::find_fde(module.local_tables(), begin, fde) != cfi::Found::yes ||
        fde.pc_begin != begin) {
        return rows;
    }
    for (std::uint64_t pc = fde.pc_begin; pc < fde.pc_end; ++pc) {
        cfi::FrameRules found;
        const bool known = cfi::find_rules(module.local_tables(), pc, found) == cfi::Found::yes;
        rows.push_back(known ? cfi::pack_rules(found, pc) : cfi::Row{});
    }
    return rows;
}

TEST(FrameIndexOfFile, has_the_rules_that_the_same_code_has_with_a_header) {
    for (const char* name : kFunctions) {
        const std::vector<cfi::Row> usual = rows_of(built::kUsualFrames, name);
        ASSERT_GT(usual.size(), 8U) << name;
        EXPECT_EQ(rows_of(built::kFramesWithoutHeader, name), usual) << name;
        EXPECT_EQ(rows_of(built::kDebugFrames, name), usual) << name;
        EXPECT_TRUE(rows_of(built::kCompressedFrames, name).empty()) << name;
    }
}

TEST(FrameIndexOfFile, says_why_there_is_none) {
    const auto result_of = [](const char* path) { return ElfImage::map(path)->index_result(); };
    EXPECT_EQ(result_of(built::kUsualFrames), IndexResult::not_needed);
    EXPECT_EQ(result_of(built::kFramesWithoutHeader), IndexResult::built);
    EXPECT_EQ(result_of(built::kDebugFrames), IndexResult::built);
    EXPECT_EQ(result_of(built::kCompressedFrames), IndexResult::compressed);
}

/// build_index() for a library of this process, as the agent calls it.
class Built {
public:
    Built(const Built&) = delete;
    Built& operator=(const Built&) = delete;
    ~Built() { free_index(index, budget); }
    Built(const char* path, const char* file, std::uint64_t limit = 1 << 20)
        : library_{path}, bias_{library_.bias()}, file_{file} {
        budget.limit_bytes = limit;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* out) {
                auto& built = *static_cast<Built*>(out);
                return info->dlpi_addr == built.bias_ ? (built.build(*info), 1) : 0;
            },
            this);
    }

    IndexBudget budget;
    cfi::FrameIndex index;
    IndexResult result = IndexResult::nothing;

private:
    void build(const dl_phdr_info& info) {
        const Fd fd{open(file_, O_RDONLY | O_CLOEXEC)};
        const std::span headers{info.dlpi_phdr, info.dlpi_phnum};
        const Module module = describe_module(info.dlpi_addr, headers);
        result = build_index(fd.get(),
                             {module.span, info.dlpi_addr, module.local_tables(), headers, true},
                             budget, index);
    }

    Library library_;
    std::uint64_t bias_;
    const char* file_;
};

TEST(FrameIndexOfFile, keeps_within_its_budget_and_counts_what_it_refused) {
    Built fits{built::kDebugFrames, built::kDebugFrames};
    EXPECT_EQ(fits.result, IndexResult::built);
    EXPECT_EQ(fits.budget.modules, 1U);
    EXPECT_EQ(fits.budget.used_bytes, 2U * 4096) << "a page of .debug_frame, a page of entries";
    EXPECT_EQ(fits.budget.refused_bytes, 0U);
    free_index(fits.index, fits.budget);
    EXPECT_EQ(fits.budget.used_bytes, 0U);
    EXPECT_EQ(fits.budget.modules, 0U);

    for (const std::uint64_t limit : {0U, 4095U, 4096U, 8191U}) {
        const Built refused{built::kDebugFrames, built::kDebugFrames, limit};
        EXPECT_EQ(refused.result, IndexResult::no_room) << limit;
        EXPECT_EQ(refused.budget.used_bytes, 0U) << limit;
        EXPECT_GT(refused.budget.refused_bytes, 0U) << limit;
        EXPECT_EQ(refused.budget.refused_modules, 1U) << limit;
        EXPECT_EQ(refused.index.debug_frame.count, 0U) << limit;
    }
}

TEST(FrameIndexOfFile, reads_no_file_but_the_one_that_was_loaded) {
    EXPECT_EQ(Built(built::kDebugFrames, built::kFramesWithoutHeader).result,
              IndexResult::other_file);
    EXPECT_EQ(Built(built::kDebugFrames, "/dev/null").result, IndexResult::unreadable);
    EXPECT_EQ(Built(built::kDebugFrames, "/nonexistent").result, IndexResult::unreadable);

    std::ifstream in{built::kDebugFrames, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    const std::string path = ::testing::TempDir() + "other_frames_" + std::to_string(getpid());
    const auto built_from = [&path](const std::string& content) {
        std::ofstream(path, std::ios::binary) << content;
        return Built{built::kDebugFrames, path.c_str()};
    };
    EXPECT_EQ(built_from(bytes).result, IndexResult::built);

    // Another build: one address differs, or one byte of the build-id.
    ASSERT_GT(bytes.size(), sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
    std::string other_segment = bytes;
    other_segment[sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_memsz)] ^= 1;
    EXPECT_EQ(built_from(other_segment).result, IndexResult::other_file);
    const std::size_t note = bytes.find(std::string{"GNU\0", 4});
    ASSERT_NE(note, std::string::npos);
    std::string other_note = bytes;
    other_note[note + 5] ^= 1;
    EXPECT_EQ(built_from(other_note).result, IndexResult::other_file);

    // Cut off anywhere, as by somebody who writes it anew.
    for (std::size_t size = 0; size < bytes.size(); size += 509) {
        const Built cut = built_from(bytes.substr(0, size));
        EXPECT_TRUE(cut.result == IndexResult::unreadable || cut.result == IndexResult::not_needed)
            << size << ": " << static_cast<int>(cut.result);
        EXPECT_EQ(cut.budget.used_bytes, 0U);
    }
    std::remove(path.c_str());
}

struct LiveWalk {
    Tables* tables;
    Walked walked;
};

void walk_here(void* data) {
    auto& live = *static_cast<LiveWalk*>(data);
    SAMPLE_WALK_HERE(live.walked, *live.tables);
}

TEST(FrameIndexOfFile, leads_a_walk_through_the_library_to_the_root) {
    for (const char* path : {built::kFramesWithoutHeader, built::kDebugFrames}) {
        const Library library{path};
        Tables tables;
        LiveWalk live{&tables, {}};
        ASSERT_NE(library.function("frames_large"), nullptr) << path;
        library.function("frames_large")(walk_here, &live);
        EXPECT_EQ(live.walked.result.reason, StopReason::root) << path;
        const Pc pc{reinterpret_cast<std::uint64_t>(library.function("frames_large"))};
        const Module* module = tables.modules().find(pc);
        ASSERT_NE(module, nullptr) << path;
        EXPECT_TRUE(is_still_loaded(*module, pc)) << path;
        for (const char* name : kFunctions) {
            EXPECT_EQ(count_of(tables, live.walked, library.function(name)), 1U) << path << name;
        }
    }
}

}  // namespace
}  // namespace sample::unwind::testing
