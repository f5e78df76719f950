// The frames of addresses at which functions were inlined, in what two compilers make of
// fixtures/inlines.cpp. Expected lines are read from the comments there.
#include "tests/built.h"
#include "tests/symbolize/support.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

namespace sample::symbolize {
namespace {

// NOLINTBEGIN(readability-function-cognitive-complexity): GoogleTest's macros count as branches.

/// What the compiler writes of functions that have no symbol of their own.
enum class Writes { all, no_types, bare_names };

struct Form {
    const char* file;
    bool is_gcc;
    Writes writes = Writes::all;
};

std::ostream& operator<<(std::ostream& out, const Form& form) {
    return out << form.file;
}

/// "name file:line", innermost first.
using Chain = std::vector<std::string>;

std::string place(const std::string& file, const std::string& comment) {
    std::ifstream source{std::string{built::kFixtureSources} + "/" + file};
    std::string text;
    for (int line = 1; std::getline(source, text); ++line) {
        if (text.ends_with("// " + comment)) {
            return " " + file + ":" + std::to_string(line);
        }
    }
    ADD_FAILURE() << file << " has no line \"" << comment << "\"";
    return {};
}

std::string in_source(const std::string& comment) {
    return place("inlines.cpp", comment);
}

Chain chain_of(const Symbols& symbols, std::size_t address) {
    Chain chain;
    for (const SymbolFrame& frame : symbols.frames_of(address)) {
        const std::string& file = symbols.files.at(frame.file);
        chain.push_back(symbols.functions.at(frame.function).name + " " +
                        file.substr(file.rfind('/') + 1) + ":" + std::to_string(frame.line));
    }
    return chain;
}

struct Extent {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

/// nm's symbols with a size; asked once a file.
const std::map<std::string, Extent>& extents_in(const std::string& path) {
    static std::map<std::string, std::map<std::string, Extent>> known;
    const auto [place, is_new] = known.try_emplace(path);
    if (is_new) {
        std::istringstream lines{run(std::string{NM} + " -S --defined-only " + path +
                                     " | awk 'NF == 4 {print $1, $2, $4}'")};
        std::string name;
        for (Extent one; lines >> std::hex >> one.start >> one.size >> name;) {
            place->second[name] = one;
        }
    }
    return place->second;
}

std::vector<std::uint64_t> addresses_of(const std::string& path, const std::string& symbol) {
    std::vector<std::uint64_t> result;
    const auto found = extents_in(path).find(symbol);
    if (found == extents_in(path).end()) {
        ADD_FAILURE() << path << " has no " << symbol;
        return result;
    }
    for (std::uint64_t i = 0; i < found->second.size; ++i) {
        result.push_back(found->second.start + i);
    }
    return result;
}

class EveryInlining : public ::testing::TestWithParam<Form> {
protected:
    /// All that the addresses of a function show.
    static std::set<Chain> chains_in(const std::string& symbol) {
        const std::vector<std::uint64_t> addresses = addresses_of(fixture(GetParam().file), symbol);
        const ModuleSymbols named = symbolize({fixture(GetParam().file), {}}, addresses);
        EXPECT_EQ(named.problem, "");
        std::set<Chain> result;
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            result.insert(chain_of(named.symbols, i));
        }
        return result;
    }

    /// The name of a function that has no symbol, by how much of it the compiler wrote.
    static std::string name(const std::string& scope, const std::string& bare,
                            const std::string& arguments) {
        return GetParam().writes == Writes::all ? scope + bare + arguments : bare;
    }

    /// The name of a function that other files could call: g++ always writes it in full.
    static std::string external(const std::string& scope, const std::string& bare,
                                const std::string& arguments) {
        return GetParam().writes == Writes::bare_names ? bare : scope + bare + arguments;
    }

    static void expect_in(const Chain& expected, const std::string& symbol) {
        const std::set<Chain> found = chains_in(symbol);
        EXPECT_TRUE(found.contains(expected))
            << ::testing::PrintToString(expected) << " is not in " << symbol << ", but\n"
            << ::testing::PrintToString(found);
    }

    const std::string unnamed_ = "(anonymous namespace)::";
};

TEST_P(EveryInlining, is_seen_three_calls_deep) {
    expect_in({name(unnamed_, "third", "(int)") + in_source("in third"),
               name(unnamed_, "second", "(int, char const*)") + in_source("calls third"),
               name(unnamed_, "first", "(int)") + in_source("calls second"),
               "nested_calls(int)" + in_source("calls first")},
              "_Z12nested_callsi");
}

TEST_P(EveryInlining, is_seen_twice_on_one_line) {
    const Chain expected{name(unnamed_, "third", "(int)") + in_source("in third"),
                         "twice_on_a_line(int)" + in_source("calls third twice")};
    expect_in(expected, "_Z15twice_on_a_linei");
}

TEST_P(EveryInlining, has_its_call_in_the_included_file_that_it_stands_in) {
    expect_in(
        {name(unnamed_, "third", "(int)") + in_source("in third"),
         "call_in_an_included_file(int)" + place("inlines_call.inc", "calls third from elsewhere")},
        "_Z24call_in_an_included_filei");
}

TEST_P(EveryInlining, has_its_own_lines_in_the_header) {
    expect_in({external("shapes::Square::", "area", "() const") + place("inlines.h", "in area"),
               "calls_a_header(int)" + in_source("calls area")},
              "_Z14calls_a_headeri");
}

TEST_P(EveryInlining, has_hot_and_cold_parts) {
    const std::string checked = external("", "checked", "(int)");
    expect_in({checked + in_source("in checked"), "hot_and_cold(int)" + in_source("calls checked")},
              "_Z12hot_and_coldi");
    const Chain cold{checked + in_source("in the cold part of checked")};
    if (GetParam().is_gcc) {
        expect_in({cold[0], "hot_and_cold(int) [clone .cold]" + in_source("calls checked")},
                  "_Z12hot_and_coldi.cold");
    } else {
        expect_in({cold[0], "hot_and_cold(int)" + in_source("calls checked")}, "_Z12hot_and_coldi");
    }
}

TEST_P(EveryInlining, happens_to_a_function_in_itself) {
    const std::string outer = "recursive(int)" + in_source("calls recursive");
    const std::set<Chain> found = chains_in("_Z9recursivei");
    const bool is_nested = std::any_of(found.begin(), found.end(), [&](const Chain& chain) {
        return chain.size() > 2 && chain.back() == outer && chain[chain.size() - 2] == outer &&
               chain[0] == "recursive(int)" + in_source("in recursive");
    });
    EXPECT_EQ(is_nested, GetParam().is_gcc) << ::testing::PrintToString(found);
}

TEST_P(EveryInlining, names_lambdas) {
    std::string name = "operator()";
    if (GetParam().writes == Writes::all) {
        name = GetParam().is_gcc ? "calls_a_lambda(int)::{lambda(int)#1}::operator()(int) const"
                                 : "calls_a_lambda(int)::$_0::operator()(int) const";
    }
    expect_in({name + in_source("in lambda"), "calls_a_lambda(int)" + in_source("calls lambda")},
              "_Z14calls_a_lambdai");
}

TEST_P(EveryInlining, names_a_function_as_where_it_is_not_inlined) {
    expect_in({external(unnamed_, "kept", "(int, unsigned long)") + in_source("in kept"),
               "calls_kept(int)" + in_source("calls kept")},
              "_Z10calls_kepti");
    if (std::string{GetParam().file} == "inlines_gcc_lto") {
        return;  // Link-time optimisation finds out where the pointer points.
    }
    expect_in({"(anonymous namespace)::kept(int, unsigned long)" + in_source("in kept")},
              "_ZN12_GLOBAL__N_14keptEim");
}

TEST_P(EveryInlining, names_methods_of_local_classes) {
    expect_in({name("local_classes(int)::Adder::", "add", "(int) const") + in_source("in add"),
               "local_classes(int)" + in_source("calls add")},
              "_Z13local_classesi");
}

TEST_P(EveryInlining, crosses_object_files_where_they_are_optimised_at_link_time) {
    const Chain expected{"from_elsewhere(int)" + place("inlines_other.cpp", "in from_elsewhere"),
                         "link_time(int)" + in_source("calls from_elsewhere")};
    EXPECT_EQ(chains_in("_Z9link_timei").contains(expected),
              std::string{GetParam().file} == "inlines_gcc_lto");
}

TEST_P(EveryInlining, says_where_the_inlined_function_begins) {
    const std::string path = fixture(GetParam().file);
    const auto named = symbolize({path, {}}, addresses_of(path, "_Z14calls_a_headeri"));
    const auto area = std::find_if(
        named.symbols.functions.begin(), named.symbols.functions.end(),
        [](const FunctionSymbol& one) { return one.name.find("area") != std::string::npos; });
    ASSERT_NE(area, named.symbols.functions.end());
    EXPECT_EQ(area->origin, NameOrigin::known);
    EXPECT_EQ(area->start, 0U);
    if (GetParam().writes == Writes::bare_names) {
        return;  // Nor does it write where functions begin.
    }
    EXPECT_EQ(area->line, begin_of("area", "inlines.h"));
    EXPECT_EQ(area->source, std::string{built::kFixtureSources} + "/inlines.h");
    EXPECT_EQ(area->linkage_name, "_ZNK6shapes6Square4areaEv");
}

class EveryInliningWithTypes : public EveryInlining {};

TEST_P(EveryInliningWithTypes, names_templates_and_all_kinds_of_types) {
    const std::string in_templates = "calls_templates(int)";
    expect_in({"(anonymous namespace)::Buffer<unsigned long, 4>::fill(unsigned long const&) const "
               "volatile" +
                   in_source("in fill"),
               in_templates + in_source("calls fill")},
              "_Z15calls_templatesi");
    expect_in({"int (anonymous namespace)::Buffer<unsigned long, 4>::pack<char, int>(unsigned "
               "long, char, int)" +
                   in_source("in pack"),
               in_templates + in_source("calls pack")},
              "_Z15calls_templatesi");
    expect_in({"(anonymous namespace)::all_kinds(char const* const*, int (&) [3], int (*)(char "
               "const*, ...), int shapes::Square::*, unsigned char&&, (anonymous "
               "namespace)::Buffer<(anonymous namespace)::Buffer<unsigned long, 2>, 3>*)" +
                   in_source("in all_kinds"),
               in_templates + in_source("calls all_kinds")},
              "_Z15calls_templatesi");
}

INSTANTIATE_TEST_SUITE_P(
    Inlines, EveryInliningWithTypes,
    ::testing::Values(Form{"inlines_gcc_5", true}, Form{"inlines_gcc_4", true},
                      Form{"inlines_gcc_types_5", true}, Form{"inlines_gcc_types_4", true},
                      Form{"inlines_gcc_split_types_5", true},
                      Form{"inlines_gcc_split_types_4", true}, Form{"inlines_gcc_split_5", true},
                      Form{"inlines_gcc_split_4", true}, Form{"inlines_gcc_lto", true},
                      Form{"inlines_clang_5", false}, Form{"inlines_clang_4", false},
                      Form{"inlines_clang_split", false}, Form{"inlines_clang_profiling", false}));

INSTANTIATE_TEST_SUITE_P(
    Inlines, EveryInlining,
    ::testing::Values(Form{"inlines_gcc_5", true}, Form{"inlines_gcc_4", true},
                      Form{"inlines_gcc_types_5", true}, Form{"inlines_gcc_types_4", true},
                      Form{"inlines_gcc_split_types_5", true},
                      Form{"inlines_gcc_split_types_4", true}, Form{"inlines_gcc_split_5", true},
                      Form{"inlines_gcc_split_4", true}, Form{"inlines_gcc_lto", true},
                      Form{"inlines_gcc_g1", true, Writes::no_types},
                      Form{"inlines_clang_5", false}, Form{"inlines_clang_4", false},
                      Form{"inlines_clang_split", false}, Form{"inlines_clang_profiling", false},
                      Form{"inlines_clang_lines", false, Writes::bare_names}));

/// What no compiler writes: fixtures/inline_shapes.s.
class OddInlining : public ::testing::Test {
protected:
    [[nodiscard]] ModuleSymbols name(const std::string& function) const {
        return symbolize({path_, {}}, addresses_of(path_, function));
    }
    static Chain names_at(const Symbols& symbols, std::size_t offset) {
        Chain names;
        for (const SymbolFrame& frame : symbols.frames_of(offset)) {
            names.push_back(symbols.functions.at(frame.function).name + " " +
                            std::to_string(frame.line));
        }
        return names;
    }
    const std::string path_ = fixture("inline_shapes");
};

TEST_F(OddInlining, belongs_to_the_first_and_stays_inside_its_caller) {
    const ModuleSymbols named = name("overlapping");
    EXPECT_EQ(named.problem, "");
    const Symbols& symbols = named.symbols;
    EXPECT_EQ(names_at(symbols, 7), (Chain{"one 0", "overlapping 11"}));
    EXPECT_EQ(names_at(symbols, 15), (Chain{"one 0", "overlapping 11"}));
    EXPECT_EQ(names_at(symbols, 16), (Chain{"outside 0", "two 13", "overlapping 12"}));
    EXPECT_EQ(names_at(symbols, 23), (Chain{"outside 0", "two 13", "overlapping 12"}));
    EXPECT_EQ(names_at(symbols, 24), (Chain{"overlapping 0"}));
}

TEST_F(OddInlining, may_refer_to_itself) {
    EXPECT_EQ(names_at(name("circular").symbols, 0), (Chain{"[inlined] 0", "circular 21"}));
    EXPECT_EQ(names_at(name("circular").symbols, 16), (Chain{"circular 0"}));
}

TEST_F(OddInlining, may_refer_to_no_function) {
    EXPECT_EQ(names_at(name("nameless").symbols, 0), (Chain{"[inlined] 0", "nameless 41"}));
}

TEST_F(OddInlining, ends_at_some_depth) {
    const ModuleSymbols named = name("deep");
    EXPECT_NE(named.problem.find("does not parse"), std::string::npos) << named.problem;
    const Chain names = names_at(named.symbols, 0);
    EXPECT_GT(names.size(), 100U);
    EXPECT_LT(names.size(), 1000U);
    EXPECT_EQ(names.back(), "deep 31");
}

TEST_F(OddInlining, names_a_vector_without_an_extent) {
    const Symbol symbol = symbolize_one(path_, symbols_of(path_).at("vectors"));
    EXPECT_EQ(symbol.name, "vectors(int __vector())");
}

/// Debug information whose entries say that their sibling is their own first child.
class SiblingsBelow : public TempFolderTest {
protected:
    /// A function with blocks and, in front of it, namespaces; each the sibling of its parent.
    [[nodiscard]] std::string build() const {
        std::ofstream out{path("siblings.s")};
        out << kBegin;
        chain(out, 3);
        out << ".uleb128 2\n.asciz \"walled\"\n.quad walled\n.long 16\n";
        chain(out, 4);
        out << ".byte 0, 0\nunit_end:\n";
        out.close();
        run(std::string{CC} + " -shared -nostdlib -o " + path("siblings") + " " +
            path("siblings.s"));
        return path("siblings");
    }

private:
    /// Of entries of one kind, so many that all ways through them have no end.
    static void chain(std::ostream& out, int kind) {
        constexpr int kEntries = 60;
        for (int i = 0; i < kEntries; ++i) {
            out << ".uleb128 " << kind << "\n.long 1f - unit\n1:\n";
        }
        // The last has no children, and so no end of them.
        out << ".uleb128 5\n.rept " << kEntries << "\n.byte 0\n.endr\n";
    }
    static constexpr const char* kBegin = R"(
        .text
        .globl walled
        .type walled, @function
walled: .skip 16, 0x90
        .size walled, 16
        .section .debug_abbrev, "", @progbits
        .uleb128 1, 0x11                # DW_TAG_compile_unit: language, low_pc, high_pc
        .byte 1, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0
        .uleb128 2, 0x2e                # DW_TAG_subprogram: name, low_pc, high_pc
        .byte 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0
        .uleb128 3, 0x39                # DW_TAG_namespace: sibling
        .byte 1, 0x01, 0x13, 0, 0
        .uleb128 4, 0x0b                # DW_TAG_lexical_block: sibling
        .byte 1, 0x01, 0x13, 0, 0
        .uleb128 5, 0x24                # DW_TAG_base_type
        .byte 0, 0, 0
        .byte 0
        .section .debug_info, "", @progbits
unit:   .long unit_end - 1f
1:      .short 4
        .long .debug_abbrev
        .byte 8
        .uleb128 1
        .byte 0x0c
        .quad walled
        .long 16
)";
};

TEST_F(SiblingsBelow, are_looked_at_only_so_often) {
    const std::string library = build();
    const ModuleSymbols named = symbolize({library, {}}, addresses_of(library, "walled"));
    EXPECT_NE(named.problem.find("does not parse"), std::string::npos) << named.problem;
    EXPECT_EQ(symbols_in(named).front().name, "walled");
}

/// A unit without a type, of many functions, and of a function with many classes without names, as
/// many of them deeper in its blocks than they are numbered: what is found out about the unit, or
/// the function, anew for each of them takes minutes.
class ManyOfOneUnit : public TempFolderTest {
protected:
    static constexpr int kMany = 30'000;

    [[nodiscard]] std::string build() const {
        std::ofstream out{path("many.s")};
        out << ".set many, " << kMany << kBegin;
        for (int i = 0; i < kMany; ++i) {
            out << "f" << i << ": .uleb128 3\n.asciz \"f" << i << "\"\n";
        }
        out << ".uleb128 2\n.asciz \"host\"\n.quad host\n.long 2 * many\n"
               ".rept many\n.uleb128 6\n.byte 0\n.endr\n"
               ".rept 40\n.uleb128 5\n.endr\n";
        for (int i = 0; i < kMany; ++i) {
            out << ".uleb128 6\nm" << i << ": .uleb128 3\n.asciz \"operator()\"\n.byte 0\n";
        }
        out << ".rept 40\n.byte 0\n.endr\n";
        for (int i = 0; i < 2 * kMany; ++i) {
            out << ".uleb128 4\n.long " << (i < kMany ? "f" : "m") << i % kMany
                << " - unit\n.quad host + " << i << "\n.long 1\n";
        }
        out << ".byte 0, 0\nunit_end:\n";
        out.close();
        run(std::string{CC} + " -shared -nostdlib -o " + path("many") + " " + path("many.s"));
        return path("many");
    }

private:
    static constexpr const char* kBegin = R"(
        .text
        .globl host
        .type host, @function
host:   .skip 2 * many, 0x90
        .size host, 2 * many
        .section .debug_abbrev, "", @progbits
        .uleb128 1, 0x11                # DW_TAG_compile_unit: language, low_pc, high_pc
        .byte 1, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0
        .uleb128 2, 0x2e                # DW_TAG_subprogram: name, low_pc, high_pc
        .byte 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0
        .uleb128 3, 0x2e                # DW_TAG_subprogram: name
        .byte 0, 0x03, 0x08, 0, 0
        .uleb128 4, 0x1d                # DW_TAG_inlined_subroutine: abstract_origin, low_pc, high_pc
        .byte 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0
        .uleb128 5, 0x0b                # DW_TAG_lexical_block
        .byte 1, 0, 0
        .uleb128 6, 0x13                # DW_TAG_structure_type
        .byte 1, 0, 0
        .byte 0
        .section .debug_info, "", @progbits
unit:   .long unit_end - 1f
1:      .short 4
        .long .debug_abbrev
        .byte 8
        .uleb128 1
        .byte 0x04                      # C++
        .quad host
        .long 2 * many
)";
};

TEST_F(ManyOfOneUnit, are_named_in_one_pass) {
    const std::string library = build();
    const ModuleSymbols named = symbolize({library, {}}, addresses_of(library, "host"));
    EXPECT_EQ(named.problem, "");
    const auto innermost = [&named](std::size_t offset) {
        return named.symbols.functions.at(named.symbols.frames_of(offset).front().function).name;
    };
    EXPECT_EQ(innermost(kMany - 1), "f" + std::to_string(kMany - 1));
    EXPECT_EQ(innermost(2 * kMany - 1), "host::{lambda()#1}::operator()");
}

// NOLINTEND(readability-function-cognitive-complexity)

}  // namespace
}  // namespace sample::symbolize
