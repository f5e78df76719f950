// What the tests of symbolize/ share: the programs built for them, the tools that know better, and
// a place for files.
#pragma once

#include "core/text.h"
#include "symbolize/symbolizer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sample::symbolize {

/// The path of a program or library that CMakeLists.txt builds.
std::string fixture(const std::string& name);

/// The line of `file` (in fixtures/) with the comment "begins NAME"; fails the test if there is
/// none.
std::uint32_t begin_of(const std::string& name, const std::string& file);

/// Runs a shell command that must succeed; its output.
std::string run(const std::string& command);

/// nm's symbols of a file, without versions, and objdump's names of its stubs ("puts@plt").
std::map<std::string, std::uint64_t> symbols_of(const std::string& path);
std::map<std::string, std::uint64_t> stubs_of(const std::string& path);

/// The address of a section.
std::uint64_t section_start(const std::string& path, const std::string& section);

/// The bytes of a section, as they are in the file.
std::vector<std::uint8_t> section_bytes(const std::string& path, const std::string& section);
std::vector<std::uint8_t> build_id_of(const std::string& path);

/// What an address is called that lies in one function's own code.
struct Symbol : FunctionSymbol {
    std::uint32_t call_line = 0;  ///< Of the address itself.
    bool found = false;
};
/// The function with the code, the last of each address's frames, and the line of the first.
std::vector<Symbol> symbols_in(const ModuleSymbols& result);

/// Names one address.
Symbol symbolize_one(const std::string& path, std::uint64_t address, const Options& options = {});

/// A folder of the test's own, removed at its end.
class TempFolderTest : public ::testing::Test {
public:
    TempFolderTest(const TempFolderTest&) = delete;
    TempFolderTest& operator=(const TempFolderTest&) = delete;
    TempFolderTest(TempFolderTest&&) = delete;
    TempFolderTest& operator=(TempFolderTest&&) = delete;

protected:
    TempFolderTest();
    ~TempFolderTest() override;
    [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

private:
    std::string folder_;
};

}  // namespace sample::symbolize
