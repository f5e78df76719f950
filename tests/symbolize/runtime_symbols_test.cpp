// Maps and dumps as files: which one is believed, and what its names become.
#include "core/jitdump.h"
#include "tests/core/jitdump_builder.h"
#include "tests/symbolize/support.h"

#include <unistd.h>

#include <fstream>

namespace sample::symbolize {
namespace {

using jitdump::Builder;

class RuntimeSymbols : public TempFolderTest {
protected:
    [[nodiscard]] ModuleIdentity file(const std::string& name, const std::string& content) const {
        std::ofstream{path(name), std::ios::binary} << content;
        ModuleIdentity module{path(name), {}};
        module.kind = CodeKind::jit;
        return module;
    }
    static Symbol one(const ModuleIdentity& module, std::uint64_t address) {
        return symbols_in(symbolize(module, {&address, 1})).at(0);
    }
    static std::string problem(const ModuleIdentity& module) {
        const std::uint64_t address = 0x1000;
        return symbolize(module, {&address, 1}).problem;
    }
};

TEST_F(RuntimeSymbols, a_map_names_run_time_addresses) {
    const ModuleIdentity map = file("perf-7.map", "1000 10 JS:*fib /srv/x.js:12:3\n");
    const Symbol symbol = one(map, 0x1004);
    EXPECT_EQ(symbol.name, "fib");
    EXPECT_EQ(symbol.source, "/srv/x.js");
    EXPECT_EQ(symbol.line, 12U);
    EXPECT_EQ(symbol.start, 0x1000U);
    EXPECT_EQ(symbol.origin, NameOrigin::known);
    EXPECT_EQ(problem(map), "");
}

TEST_F(RuntimeSymbols, what_nothing_names_says_what_it_is) {
    const Symbol symbol = one(file("perf-7.map", ""), 0x7f0012);
    EXPECT_EQ(symbol.name, "[jit code]");
    EXPECT_EQ(symbol.origin, NameOrigin::none);
}

TEST_F(RuntimeSymbols, a_dump_names_its_own_bytes_and_their_lines) {
    Builder dump;
    const std::uint64_t first = dump.load(1, "first", 0x1000, "12345678");
    dump.debug_info(2, 0x1000, {{0x1000, 10, "a.src"}, {0x1004, 11, "\xff"}, {0x1006, 3, "b.src"}});
    const std::uint64_t second = dump.load(3, "_ZN3foo3barEi", 0x1000, "12345678");
    const ModuleIdentity module = file("jit-7.dump", dump.bytes);
    EXPECT_EQ(one(module, first + 3).name, "first");
    EXPECT_EQ(one(module, first + 3).line, 0U);
    const std::uint64_t addresses[] = {second + 1, second + 5, second + 7, first - 1};
    const ModuleSymbols result = symbolize(module, addresses);
    const auto symbols = symbols_in(result);
    EXPECT_EQ(symbols[0].name, "foo::bar(int)");
    EXPECT_EQ(symbols[0].source, "a.src");
    EXPECT_EQ(symbols[0].line, 10U);
    EXPECT_EQ(symbols[0].call_line, 10U);
    EXPECT_EQ(symbols[1].call_line, 11U);
    EXPECT_EQ(symbols[2].call_line, 3U);
    EXPECT_EQ(result.symbols.files.at(result.symbols.frames_of(2)[0].file), "b.src");
    EXPECT_EQ(symbols[3].name, "[jit code]") << "the name's bytes are no code";
}

TEST_F(RuntimeSymbols, lines_that_v8_tells_of_are_moved_to_the_code) {
    Builder dump;
    // As node 20 writes them: behind an ELF header, and with names that were freed.
    dump.debug_info(1, 0x1000, {{0x1040, 12, "\x01\xc3"}, {0x1044, 13, "\x01\xc3"}});
    const std::uint64_t code = dump.load(2, "JS:*fib /srv/x.js:12:3", 0x1000, "12345678");
    const ModuleIdentity module = file("jit-7.dump", dump.bytes);
    EXPECT_EQ(one(module, code).call_line, 12U);
    EXPECT_EQ(one(module, code + 5).call_line, 13U);
    const std::uint64_t address = code + 5;
    const ModuleSymbols result = symbolize(module, {&address, 1});
    EXPECT_EQ(result.symbols.files.at(result.symbols.frames_of(0)[0].file), "/srv/x.js");
}

TEST_F(RuntimeSymbols, a_dump_can_stand_for_a_map) {
    Builder dump;
    dump.load(1, "old", 0x1000, "12345678");
    dump.load(2, "new", 0x1004, "12345678");
    const ModuleIdentity module = file("perf-7.map", dump.bytes);
    EXPECT_EQ(one(module, 0x1001).name, "old");
    EXPECT_EQ(one(module, 0x1005).name, "new");
    EXPECT_EQ(one(module, 0x2000).name, "[jit code]");
}

TEST_F(RuntimeSymbols, a_dump_that_was_replaced_is_not_used) {
    Builder dump{7, 100};
    const std::uint64_t code = dump.load(1, "first", 0x1000, "12345678");
    ModuleIdentity module = file("jit-7.dump", dump.bytes);
    module.build_id = jitdump::identity_of({7, 100, false});
    EXPECT_EQ(one(module, code).name, "first");
    module.build_id = jitdump::identity_of({7, 101, false});
    EXPECT_EQ(one(module, code).origin, NameOrigin::none);
    EXPECT_NE(problem(module).find("was replaced"), std::string::npos);
}

TEST_F(RuntimeSymbols, a_file_that_is_held_goes_first) {
    ModuleIdentity module = file("perf-7.map", "1000 10 of another process\n");
    static_cast<void>(file("held", "1000 10 right\n"));
    module.other_paths = {path("held")};
    EXPECT_EQ(one(module, 0x1000).name, "right");
    module.path = "/nowhere/perf-7.map";
    EXPECT_EQ(one(module, 0x1000).name, "right");
    module.other_paths = {"/nowhere/held"};
    EXPECT_NE(problem(module).find("/nowhere/perf-7.map"), std::string::npos);
}

TEST_F(RuntimeSymbols, another_users_file_is_not_believed) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give files away";
    }
    const ModuleIdentity module = file("perf-7.map", "1000 10 forged\n");
    ASSERT_EQ(::chown(module.path.c_str(), 12345, 12345), 0);
    EXPECT_EQ(one(module, 0x1000).origin, NameOrigin::none);
    EXPECT_NE(problem(module).find("another user"), std::string::npos);
}

TEST_F(RuntimeSymbols, a_fifo_stops_nobody) {
    const std::string name = path("perf-7.map");
    ASSERT_EQ(run("mkfifo " + name), "");
    ModuleIdentity module{name, {}};
    module.kind = CodeKind::jit;
    EXPECT_NE(problem(module), "");
}

}  // namespace
}  // namespace sample::symbolize
