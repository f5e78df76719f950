#include "tests/symbolize/support.h"

#include "tests/built.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sample::symbolize {

std::string fixture(const std::string& name) {
    return std::string{built::kFixtures} + "/" + name;
}

std::uint32_t begin_of(const std::string& name, const std::string& file) {
    std::ifstream source{std::string{built::kFixtureSources} + "/" + file};
    std::string text;
    for (std::uint32_t line = 1; std::getline(source, text); ++line) {
        if (text.ends_with("// begins " + name)) {
            return line;
        }
    }
    ADD_FAILURE() << file << " does not say where " << name << " begins";
    return 0;
}

std::string run(const std::string& command) {
    FILE* const pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) {
        ADD_FAILURE() << "cannot run " << command;
        return {};
    }
    std::string output;
    std::array<char, 4096> buffer{};
    for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
        output.append(buffer.data(), size);
    }
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return output;
}

std::map<std::string, std::uint64_t> symbols_of(const std::string& path) {
    std::istringstream lines{run(std::string{NM} + " --defined-only " + path)};
    std::map<std::string, std::uint64_t> result;
    std::string address;
    std::string type;
    std::string name;
    while (lines >> address >> type >> name) {
        result[name.substr(0, name.find('@'))] = std::stoull(address, nullptr, 16);
    }
    return result;
}

std::map<std::string, std::uint64_t> stubs_of(const std::string& path) {
    std::istringstream lines{run(std::string{OBJDUMP} + " -d " + path)};
    std::map<std::string, std::uint64_t> result;
    std::string line;
    while (std::getline(lines, line)) {
        const std::size_t open = line.find(" <");
        if (open == 16 && line.ends_with("@plt>:")) {
            result[line.substr(open + 2, line.size() - open - 4)] =
                std::stoull(line.substr(0, open), nullptr, 16);
        }
    }
    return result;
}

std::uint64_t section_start(const std::string& path, const std::string& section) {
    std::istringstream lines{run(std::string{OBJDUMP} + " -hw " + path)};
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream fields{line};
        std::string index;
        std::string name;
        std::string size;
        std::string address;
        if (fields >> index >> name >> size >> address && name == section) {
            return std::stoull(address, nullptr, 16);
        }
    }
    ADD_FAILURE() << path << " has no " << section;
    return 0;
}

std::vector<std::uint8_t> section_bytes(const std::string& path, const std::string& section) {
    // Into a folder of its own: where objcopy fails it removes what it writes to, be it
    // /dev/stdout.
    const std::string bytes = run("folder=$(mktemp -d) && " + std::string{OBJCOPY} +
                                  " --dump-section " + section + "=$folder/bytes " + path +
                                  " $folder/copy && cat $folder/bytes; status=$?; "
                                  "rm -rf $folder; exit $status");
    return {bytes.begin(), bytes.end()};
}

std::vector<std::uint8_t> build_id_of(const std::string& path) {
    constexpr std::size_t kHeader = 16;  // of the note, with its owner
    const std::vector<std::uint8_t> note = section_bytes(path, ".note.gnu.build-id");
    if (note.size() <= kHeader) {
        ADD_FAILURE() << path << " has no build-id";
        return {};
    }
    return {note.begin() + kHeader, note.end()};
}

std::vector<Symbol> symbols_in(const ModuleSymbols& result) {
    std::vector<Symbol> symbols;
    for (std::size_t i = 0; i < result.symbols.runs.size(); ++i) {
        Symbol& symbol = symbols.emplace_back();
        if (const auto frames = result.symbols.frames_of(i); !frames.empty()) {
            static_cast<FunctionSymbol&>(symbol) =
                result.symbols.functions.at(frames.back().function);
            symbol.call_line = frames.front().line;
            symbol.found = symbol.origin != NameOrigin::none;
        }
    }
    return symbols;
}

Symbol symbolize_one(const std::string& path, std::uint64_t address, const Options& options) {
    const std::vector<std::uint64_t> addresses{address};
    ModuleSymbols result = symbolize({path, {}}, addresses, options);
    const std::vector<Symbol> symbols = symbols_in(result);
    EXPECT_EQ(symbols.size(), 1U);
    return symbols.empty() ? Symbol{} : symbols.front();
}

TempFolderTest::TempFolderTest() {
    std::string pattern = ::testing::TempDir() + "symbolize-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
}

TempFolderTest::~TempFolderTest() {
    std::filesystem::remove_all(folder_);
}

}  // namespace sample::symbolize
