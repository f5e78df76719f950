#include "unwind/walk/module_table.h"

#include "bench/unwind/loaded_modules.h"
#include "unwind/host/elf_image.h"
#include "unwind/walk/row_cache.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

namespace sample::unwind {
namespace {

Module spanning(std::uint64_t begin, std::uint64_t end) {
    Module module;
    module.span = {begin, end};
    return module;
}

TEST(ModuleTable, sorts_and_drops_what_is_empty_or_overlaps) {
    std::array<Module, 6> modules{spanning(500, 600), spanning(100, 200), spanning(300, 300),
                                  spanning(150, 250), spanning(200, 300), spanning(400, 450)};
    ASSERT_EQ(sort_modules(modules), 4U);
    EXPECT_EQ(modules[0].span, (AddressRange{100, 200}));
    EXPECT_EQ(modules[1].span, (AddressRange{200, 300}));
    EXPECT_EQ(modules[2].span, (AddressRange{400, 450}));
    EXPECT_EQ(modules[3].span, (AddressRange{500, 600}));
    EXPECT_EQ(sort_modules({}), 0U);
}

TEST(ModuleTable, sorts_any_number) {
    for (std::size_t count = 0; count < 40; ++count) {
        std::vector<Module> modules;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t begin = 1000 + (i * 7919 % 41) * 10;
            modules.push_back(spanning(begin, begin + 10));
        }
        ASSERT_EQ(sort_modules(modules), count);
        for (std::size_t i = 1; i < count; ++i) {
            ASSERT_LT(modules[i - 1].span.begin, modules[i].span.begin);
        }
    }
}

TEST(ModuleTable, finds_by_any_pc_of_a_span) {
    const std::array<Module, 3> modules{spanning(100, 200), spanning(200, 300), spanning(400, 500)};
    const ModuleTable table{modules, 1, LoaderLookup::off};
    EXPECT_EQ(table.find(Pc{99}), nullptr);
    EXPECT_EQ(table.find(Pc{100}), modules.data());
    EXPECT_EQ(table.find(Pc{199}), modules.data());
    EXPECT_EQ(table.find(Pc{200}), &modules[1]);
    EXPECT_EQ(table.find(Pc{300}), nullptr);
    EXPECT_EQ(table.find(Pc{499}), &modules[2]);
    EXPECT_EQ(table.find(Pc{500}), nullptr);
    EXPECT_EQ(ModuleTable{}.find(Pc{100}), nullptr);
}

TEST(ModuleTable, describes_what_is_loaded_as_the_loader_does) {
    const std::vector<Module> modules = loaded_modules();
    const ModuleTable table{modules, 1, LoaderLookup::off};
    const Pc pc{reinterpret_cast<std::uint64_t>(&std::atoi)};
    const Module* module = table.find(pc);
    ASSERT_NE(module, nullptr);
    EXPECT_TRUE(module->code.contains(pc.value));
    EXPECT_TRUE(module->tables.contains(module->header));
    EXPECT_TRUE(is_still_loaded(*module, pc));

    Module asked;
    ASSERT_TRUE(find_by_loader(pc, asked));
    EXPECT_EQ(asked.span, module->span);
    EXPECT_EQ(asked.header, module->header);
    EXPECT_EQ(asked.header_size, module->header_size);
    EXPECT_EQ(asked.tables, module->tables);
    EXPECT_EQ(asked.code, module->code);
    EXPECT_EQ(asked.entry, module->entry);
    EXPECT_FALSE(find_by_loader(Pc{16}, asked));
}

TEST(ModuleTable, notices_that_another_module_has_taken_the_place) {
    const std::vector<Module> modules = loaded_modules();
    const ModuleTable table{modules, 1, LoaderLookup::off};
    const Pc pc{reinterpret_cast<std::uint64_t>(&std::atoi)};
    Module moved = *table.find(pc);
    moved.header += 16;
    EXPECT_FALSE(is_still_loaded(moved, pc));
    EXPECT_FALSE(is_still_loaded(*table.find(pc), Pc{16}));
}

TEST(ElfImage, gives_the_tables_of_the_file_at_any_bias) {
    const std::vector<Module> modules = loaded_modules();
    const ModuleTable table{modules, 1, LoaderLookup::off};
    Dl_info info{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::atoi), &info), 0);
    const Module* live = table.find(Pc{reinterpret_cast<std::uint64_t>(&std::atoi)});
    ASSERT_NE(live, nullptr);

    auto image = ElfImage::map(info.dli_fname);
    ASSERT_TRUE(image) << image.error().message();
    const Module module = image->module_at(reinterpret_cast<std::uint64_t>(info.dli_fbase));
    EXPECT_EQ(module.span, live->span);
    EXPECT_EQ(module.entry, live->entry);
    EXPECT_NE(module.image_delta, 0U);
    const auto offset = reinterpret_cast<std::uint64_t>(&std::atoi);
    cfi::FrameRules from_file;
    cfi::FrameRules from_memory;
    ASSERT_EQ(cfi::find_rules(module.local_tables(), offset + module.image_delta, from_file),
              cfi::Found::yes);
    ASSERT_EQ(cfi::find_rules(live->local_tables(), offset, from_memory), cfi::Found::yes);
    EXPECT_EQ(cfi::pack_rules(from_file, offset), cfi::pack_rules(from_memory, offset));
}

TEST(ElfImage, refuses_what_is_no_elf_file) {
    EXPECT_EQ(ElfImage::map("/nonexistent").error().code, ErrorCode::system);
    const std::string path = ::testing::TempDir() + "no_elf_" + std::to_string(getpid());
    std::ofstream(path) << std::string(5000, 'x');
    EXPECT_EQ(ElfImage::map(path).error().code, ErrorCode::corrupt);
    std::ofstream(path) << "";
    EXPECT_EQ(ElfImage::map(path).error().code, ErrorCode::corrupt);
    std::remove(path.c_str());
}

TEST(RowCache, gives_back_what_was_put_in_under_that_key_only) {
    const auto storage = std::make_unique<std::array<RowCache::Entry, 64>>();
    RowCache cache{*storage};
    EXPECT_EQ(cache.find(0x1234), cfi::Row{});
    EXPECT_EQ(cache.find(0), cfi::Row{});
    const cfi::Row row{cfi::RowKind::root};
    cache.insert(0x1234, row);
    EXPECT_EQ(cache.find(0x1234), row);
    EXPECT_EQ(cache.find(0x1234 + 64), cfi::Row{});
    cache.insert(0x1234 + 64, cfi::Row{cfi::RowKind::none});
    EXPECT_EQ(cache.find(0x1234), cfi::Row{}) << "both have one place";
}

TEST(RowCache, takes_a_torn_entry_for_none) {
    const auto storage = std::make_unique<std::array<RowCache::Entry, 1>>();
    RowCache cache{*storage};
    cache.insert(0x1234, cfi::Row{cfi::RowKind::root});
    (*storage)[0].row = cfi::Row{cfi::RowKind::none}.bits();
    EXPECT_EQ(cache.find(0x1234), cfi::Row{});
}

}  // namespace
}  // namespace sample::unwind
