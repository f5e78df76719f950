// Module files without symbols of their own, whose names are elsewhere or nowhere.
#pragma once

#include "tests/symbolize/support.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sample::symbolize {

class ModuleImageTest : public TempFolderTest {
protected:
    /// A copy of a fixture without symbols and debug information, which are in NAME.debug then.
    std::string strip(const std::string& name, const std::string& link_options = "") {
        std::string stripped = path(name);
        run(std::string{OBJCOPY} + " --only-keep-debug " + fixture(name) + " " + stripped +
            ".debug");
        run(std::string{OBJCOPY} + " --strip-all " + link_options + " " + fixture(name) + " " +
            stripped);
        return stripped;
    }

    /// "hidden" is not exported: only .symtab or debug information names it.
    static Symbol hidden(const std::string& file, const std::string& built_as,
                         const std::string& debug_root = "/nowhere") {
        return symbolize_one(file, symbols_of(fixture(built_as)).at("hidden"), {{debug_root}});
    }

    static void expect_hidden_is_named(const Symbol& symbol) {
        EXPECT_EQ(symbol.name, "hidden");
        EXPECT_EQ(symbol.line, begin_of("hidden", "functions.c"));
    }

    static void expect_no_names(const ModuleSymbols& result, const std::string& name) {
        const std::vector<Symbol> symbols = symbols_in(result);
        ASSERT_EQ(symbols.size(), 2U);
        EXPECT_FALSE(symbols[0].found);
        EXPECT_EQ(symbols[0].name, name + "+0x1234");
        EXPECT_EQ(symbols[1].name, name + "+0x10");
    }
    const std::vector<std::uint64_t> addresses_{0x1234, 0x10};
};

}  // namespace sample::symbolize
