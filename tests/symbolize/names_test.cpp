// Names, files and lines of functions in programs and libraries that hold their own symbols.
#include "tests/built.h"
#include "tests/symbolize/support.h"

#include <dlfcn.h>
#include <link.h>

#include <thread>

namespace sample::symbolize {
namespace {

// NOLINTBEGIN(readability-function-cognitive-complexity): GoogleTest's macros count as branches.

struct Expected {
    const char* linkage_name;
    const char* name;
    const char* file;
    const char* begins;
};

constexpr Expected kFunctions[] = {
    {"leaf", "leaf", "functions.c", "leaf"},
    {"hidden", "hidden", "functions.c", "hidden"},
    {"call_everything", "call_everything", "functions.c", "call_everything"},
    {"_ZNK6shapes6Circle4areaEv", "shapes::Circle::area() const", "classes.cpp", "area"},
    {"_ZN6shapes6Circle4growEi", "shapes::Circle::grow(int)", "classes.h", "grow"},
    {"_ZN6shapes6CircleC2Ei", "shapes::Circle::Circle(int)", "classes.cpp", "Circle"},
    {"_ZN6shapes5twiceIiEET_S1_", "int shapes::twice<int>(int)", "classes.cpp", "twice"},
    {"_ZZN6shapes11local_classEiEN5Adder3addEi", "shapes::local_class(int)::Adder::add(int)",
     "classes.cpp", "add"},
    {"_ZN12_GLOBAL__N_110unexportedEi", "(anonymous namespace)::unexported(int)", "classes.cpp",
     "unexported"},
};

class EveryForm : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryForm, names_functions_with_their_file_and_line) {
    const auto symbols = symbols_of(fixture(GetParam()));
    for (const Expected& expected : kFunctions) {
        SCOPED_TRACE(expected.linkage_name);
        ASSERT_TRUE(symbols.contains(expected.linkage_name));
        const std::uint64_t start = symbols.at(expected.linkage_name);
        const Symbol symbol = symbolize_one(fixture(GetParam()), start + 1);
        EXPECT_TRUE(symbol.found);
        EXPECT_EQ(symbol.name, expected.name);
        EXPECT_EQ(symbol.start, start);
        EXPECT_EQ(symbol.source, std::string{built::kFixtureSources} + "/" + expected.file);
        EXPECT_EQ(symbol.line, begin_of(expected.begins, expected.file));
        EXPECT_NE(symbol.call_line, 0U);
    }
}

TEST_P(EveryForm, gives_the_line_of_the_address_itself) {
    const auto symbols = symbols_of(fixture(GetParam()));
    const std::uint32_t begin = begin_of("leaf", "functions.c");
    const std::uint64_t start = symbols.at("leaf");
    const Symbol first = symbolize_one(fixture(GetParam()), start);
    EXPECT_GE(first.call_line, begin);
    EXPECT_LE(first.call_line, begin + 1);
    // The last instruction returns: on the line of the brace, three below.
    std::uint64_t end = start;
    while (symbolize_one(fixture(GetParam()), end + 1).name == "leaf") {
        ++end;
    }
    EXPECT_EQ(symbolize_one(fixture(GetParam()), end).call_line, begin + 3);
}

INSTANTIATE_TEST_SUITE_P(Names, EveryForm,
                         ::testing::Values("dwarf5_pie", "dwarf4_fixed", "no_build_id",
                                           "compressed", "split", "library.so"));

TEST(Names, need_no_debug_information) {
    const auto symbols = symbols_of(fixture("no_debug"));
    for (const Expected& expected : kFunctions) {
        const std::uint64_t start = symbols.at(expected.linkage_name);
        const Symbol symbol = symbolize_one(fixture("no_debug"), start + 1);
        EXPECT_TRUE(symbol.found);
        EXPECT_EQ(symbol.name, expected.name);
        EXPECT_EQ(symbol.start, start);
        EXPECT_EQ(symbol.source, "");
        EXPECT_EQ(symbol.line, 0U);
        EXPECT_EQ(symbol.call_line, 0U);
    }
}

TEST(Names, follow_the_addresses_in_any_order) {
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    const std::vector<std::uint64_t> addresses{symbols.at("main"), symbols.at("leaf"), 1,
                                               symbols.at("hidden"), symbols.at("leaf")};
    const ModuleSymbols result = symbolize({fixture("dwarf5_pie"), {}}, addresses);
    EXPECT_EQ(result.problem, "");
    std::vector<std::string> names;
    for (const Symbol& symbol : symbols_in(result)) {
        names.push_back(symbol.name);
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"main", "leaf", "dwarf5_pie+0x1", "hidden", "leaf"}));
}

TEST(Names, are_empty_for_no_addresses) {
    const ModuleSymbols result = symbolize({"/nowhere", {}}, {});
    EXPECT_TRUE(result.symbols.runs.empty());
    EXPECT_EQ(result.problem, "");
}

TEST(Names, end_where_the_symbol_ends) {
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    const std::uint64_t end = symbols.at("sized_function") + 3;  // nop, nop, ret
    EXPECT_EQ(symbolize_one(fixture("dwarf5_pie"), end - 1).name, "sized_function");
    const Symbol behind = symbolize_one(fixture("dwarf5_pie"), end + 8);
    EXPECT_FALSE(behind.found);
    EXPECT_TRUE(behind.name.starts_with("dwarf5_pie+0x")) << behind.name;
    EXPECT_EQ(behind.linkage_name, "");
}

TEST(Names, without_a_size_reach_to_the_next_symbol) {
    const std::string path = fixture("dwarf5_pie");
    const auto symbols = symbols_of(path);
    const std::uint64_t first = symbols.at("unsized_first");
    const std::uint64_t second = symbols.at("unsized_second");
    EXPECT_EQ(symbolize_one(path, first).name, "unsized_first");
    EXPECT_EQ(symbolize_one(path, second - 1).name, "unsized_first");
    EXPECT_EQ(symbolize_one(path, second).name, "unsized_second");
    EXPECT_EQ(symbolize_one(path, symbols.at("sized_function") - 1).name, "unsized_second");
}

// Where the assembler's line tables know nothing better.
TEST(Names, without_a_size_are_guesses_unless_something_tells_how_far_they_reach) {
    const std::string path = fixture("no_debug");
    const auto symbols = symbols_of(path);
    const auto origin = [&](const char* name, std::uint64_t offset) {
        const Symbol symbol = symbolize_one(path, symbols.at(name) + offset);
        EXPECT_EQ(symbol.name, name) << offset;
        return symbol.origin;
    };
    EXPECT_EQ(origin("sized_function", 1), NameOrigin::known);
    EXPECT_EQ(origin("unsized_first", 0), NameOrigin::known);
    EXPECT_EQ(origin("unsized_first", 1), NameOrigin::guessed);
    EXPECT_EQ(origin("unsized_first", 15), NameOrigin::guessed);
    EXPECT_EQ(origin("unsized_unwound", 1), NameOrigin::known);
    EXPECT_EQ(origin("unsized_unwound", 2), NameOrigin::guessed) << "behind what is unwound";
    EXPECT_EQ(origin("unsized_alone", 1), NameOrigin::known);
    EXPECT_EQ(origin("unsized_alone", 15), NameOrigin::known);
}

TEST(Names, that_are_known_and_guessed_are_two_functions) {
    const std::string path = fixture("no_debug");
    const std::uint64_t start = symbols_of(path).at("unsized_first");
    const std::vector<Symbol> symbols =
        symbols_in(symbolize({path, {}}, std::vector<std::uint64_t>{start, start + 1}));
    ASSERT_EQ(symbols.size(), 2U);
    EXPECT_EQ(symbols[0].origin, NameOrigin::known);
    EXPECT_EQ(symbols[1].origin, NameOrigin::guessed);
}

TEST(Names, of_labels_inside_a_function_are_the_functions) {
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    const Symbol symbol = symbolize_one(fixture("dwarf5_pie"), symbols.at("inner_label"));
    EXPECT_EQ(symbol.name, "sized_function");
    EXPECT_EQ(symbol.start, symbols.at("sized_function"));
}

TEST(Names, are_chosen_among_aliases_by_rule) {
    const std::string path = fixture("dwarf5_pie");
    const auto symbols = symbols_of(path);
    EXPECT_EQ(symbolize_one(path, symbols.at("local_alias")).name, "global_alias");
    EXPECT_EQ(symbolize_one(path, symbols.at("__reserved_name")).name, "plain_name");
}

TEST(Names, of_functions_inside_functions_have_their_own_line) {
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    for (const auto& [name, address] : symbols) {
        if (name.starts_with("nested.")) {
            const Symbol symbol = symbolize_one(fixture("dwarf5_pie"), address);
            EXPECT_EQ(symbol.name, name);
            EXPECT_EQ(symbol.line, begin_of("nested", "functions.c"));
            return;
        }
    }
    GTEST_SKIP() << "this compiler has no functions inside functions";
}

TEST(Names, have_no_version) {
    const auto symbols = symbols_of(fixture("library.so"));
    const Symbol symbol = symbolize_one(fixture("library.so"), symbols.at("versioned"));
    EXPECT_EQ(symbol.name, "versioned");
    EXPECT_EQ(symbol.linkage_name, "versioned");
    EXPECT_EQ(symbol.line, begin_of("versioned_v1", "versioned.c"));
}

class EveryLinkage : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryLinkage, names_the_stubs_of_imported_functions) {
    const auto stubs = stubs_of(fixture(GetParam()));
    ASSERT_TRUE(stubs.contains("puts@plt"));
    for (const auto& [name, address] : stubs) {
        for (const std::uint64_t inside : {0U, 5U}) {
            const Symbol symbol = symbolize_one(fixture(GetParam()), address + inside);
            EXPECT_TRUE(symbol.found) << name;
            EXPECT_EQ(symbol.name, name);
            EXPECT_EQ(symbol.linkage_name, name);
            EXPECT_EQ(symbol.start, address);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Names, EveryLinkage,
                         ::testing::Values("dwarf5_pie", "dwarf4_fixed", "ibt_plt"));

TEST(Names, of_lazy_stubs_are_those_of_the_stubs_they_serve) {
    // With -z ibtplt .plt has only the lazy half of each stub: after its own first entry one per
    // import, in the order of the relocations. (Programs call the other half, in .plt.sec.)
    const std::string path = fixture("ibt_plt");
    const std::uint64_t plt = section_start(path, ".plt");
    const std::string first_import =
        run(std::string{READELF} + " -rW " + path +
            " | awk '/JUMP_SLO/ {sub(\"@.*\", \"\", $5); printf $5; exit}'");
    EXPECT_FALSE(symbolize_one(path, plt).found);
    EXPECT_EQ(symbolize_one(path, plt + 16).name, first_import + "@plt");
}

TEST(Names, of_the_vdso_come_from_this_process) {
    void* const vdso = ::dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (vdso == nullptr) {
        GTEST_SKIP() << "this kernel gives programs no vDSO";
    }
    link_map* map = nullptr;
    ASSERT_EQ(::dlinfo(vdso, RTLD_DI_LINKMAP, &map), 0);
    const auto address = reinterpret_cast<std::uint64_t>(::dlsym(vdso, "__vdso_clock_gettime"));
    ::dlclose(vdso);
    const Symbol symbol = symbolize_one("[vdso]", address - map->l_addr);
    EXPECT_TRUE(symbol.found);
    EXPECT_EQ(symbol.name, "__vdso_clock_gettime");
}

TEST(Names, of_another_kernels_vdso_are_not_made_up) {
    const std::vector<std::uint64_t> addresses{0x900};
    const ModuleSymbols result = symbolize({"[vdso]", {1, 2, 3}}, addresses);
    EXPECT_EQ(symbols_in(result).at(0).name, "[vdso]+0x900");
    EXPECT_NE(result.problem, "");
}

TEST(Names, can_be_looked_up_on_several_threads) {
    const auto in_turn = [](const char* name) {
        std::vector<std::uint64_t> addresses;
        for (const auto& [symbol, address] : symbols_of(fixture(name))) {
            addresses.push_back(address);
        }
        return symbolize({fixture(name), {}}, addresses);
    };
    const ModuleSymbols expected_program = in_turn("dwarf5_pie");
    const ModuleSymbols expected_library = in_turn("library.so");
    ModuleSymbols program;
    ModuleSymbols library;
    std::thread first{[&] { program = in_turn("dwarf5_pie"); }};
    std::thread second{[&] { library = in_turn("library.so"); }};
    first.join();
    second.join();
    const auto names_and_lines = [](const ModuleSymbols& result) {
        std::vector<std::pair<std::string, std::uint32_t>> all;
        for (const Symbol& symbol : symbols_in(result)) {
            all.emplace_back(symbol.name, symbol.line);
        }
        return all;
    };
    EXPECT_EQ(names_and_lines(program), names_and_lines(expected_program));
    EXPECT_EQ(names_and_lines(library), names_and_lines(expected_library));
}

// NOLINTEND(readability-function-cognitive-complexity)

}  // namespace
}  // namespace sample::symbolize
