// The same answers as binutils' addr2line, on the test program itself: a few megabytes of DWARF
// from the compiler at hand, C++ with templates, the standard library and GoogleTest.
#include "tests/symbolize/support.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace sample::symbolize {
namespace {

constexpr std::size_t kAddresses = 3000;

struct Answer {
    std::string function;  ///< The one with the code: the last of the inlined calls.
    std::string line;      ///< Of the address: the first of them.
};

/// What addr2line says: per address the address itself, then a name and a place for each inlined
/// call, innermost first.
std::vector<Answer> ask_addr2line(const std::string& program, const std::string& addresses_file) {
    std::istringstream lines{
        run(std::string{ADDR2LINE} + " -afiC -e " + program + " @" + addresses_file)};
    std::vector<Answer> result;
    std::string text;
    std::string place;
    while (std::getline(lines, text)) {
        if (text.starts_with("0x")) {
            result.emplace_back();
            continue;
        }
        std::getline(lines, place);
        place = place.substr(0, place.find(" (discriminator"));
        result.back().function = text;
        if (result.back().line.empty()) {
            result.back().line = place.substr(place.rfind(':') + 1);
        }
    }
    return result;
}

/// Random addresses inside the program's functions.
std::vector<std::uint64_t> sample_addresses(const std::string& program) {
    std::istringstream lines{run(std::string{NM} + " -S --defined-only " + program +
                                 " | awk 'NF == 4 && $3 ~ /[tTwW]/ {print $1, $2}'")};
    std::vector<std::uint64_t> starts;
    std::vector<std::uint64_t> sizes;
    std::string start;
    std::string size;
    while (lines >> start >> size) {
        starts.push_back(std::stoull(start, nullptr, 16));
        sizes.push_back(std::stoull(size, nullptr, 16));
    }
    std::mt19937_64 random{4};
    std::vector<std::uint64_t> result;
    while (!starts.empty() && result.size() < kAddresses) {
        const std::size_t i = random() % starts.size();
        result.push_back(starts[i] + random() % std::max<std::uint64_t>(sizes[i], 1));
    }
    return result;
}

std::string without_clones(const std::string& name) {
    return name.substr(0, name.find(" [clone"));
}

/// The same function, but for what differs on purpose: addr2line gives a function of an unnamed
/// namespace its bare name, in the compiler's own spelling, and often doesn't say which part or
/// copy of a function it is.
bool is_same_function(const std::string& ours, const std::string& theirs) {
    const std::string whole = without_clones(ours);
    const std::string bare = theirs.substr(0, theirs.find_first_of("<("));
    return whole == without_clones(theirs) ||
           (bare.find("::") == std::string::npos && whole.find(bare) != std::string::npos);
}

/// The names of every address where functions begin: identical functions are one, with many names.
std::multimap<std::uint64_t, std::string> names_by_address(const std::string& program) {
    std::istringstream lines{run(std::string{NM} + " -C --defined-only " + program)};
    std::multimap<std::uint64_t, std::string> result;
    std::string address;
    std::string type;
    std::string name;
    while (lines >> address >> type && std::getline(lines >> std::ws, name)) {
        result.emplace(std::stoull(address, nullptr, 16), name);
    }
    return result;
}

class PeersTest : public TempFolderTest {};

TEST_F(PeersTest, agrees_with_addr2line) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::vector<std::uint64_t> addresses = sample_addresses(program);
    ASSERT_EQ(addresses.size(), kAddresses);
    std::ofstream list{path("addresses")};
    for (const std::uint64_t address : addresses) {
        list << std::hex << "0x" << address << "\n";
    }
    list.close();
    const std::vector<Answer> theirs = ask_addr2line(program, path("addresses"));
    const std::vector<Symbol> ours = symbols_in(symbolize({program, {}}, addresses));
    ASSERT_EQ(theirs.size(), ours.size());
    const auto names = names_by_address(program);
    const auto is_alias = [&](const Symbol& symbol, const std::string& name) {
        const auto [first, last] = names.equal_range(symbol.start);
        return std::any_of(first, last,
                           [&](const auto& entry) { return is_same_function(entry.second, name); });
    };
    std::size_t same = 0;
    std::string difference;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const Symbol& symbol = ours[i];
        const std::string line = symbol.call_line == 0 ? "?" : std::to_string(symbol.call_line);
        if (line == theirs[i].line && is_alias(symbol, theirs[i].function)) {
            ++same;
        } else {
            difference += symbol.name + " line " + line + ", but addr2line: " + theirs[i].function +
                          " line " + theirs[i].line + "\n";
        }
    }
    RecordProperty("same", static_cast<int>(same));
    EXPECT_GE(same * 1000, addresses.size() * 999) << difference;
}

}  // namespace
}  // namespace sample::symbolize
