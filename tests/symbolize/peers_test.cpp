// The same answers as binutils' addr2line, inlined frames included, on the test program itself: a
// few megabytes of DWARF from the compiler at hand, C++ with templates, the standard library and
// GoogleTest. (peers/run compares more programs with more peers, and takes its time.)
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

struct Frame {
    std::string function;
    std::string file;  ///< Without folders: the peers put them together in their own ways.
    std::uint32_t line = 0;
};

/// What addr2line says: per address the address itself, then a name and a place for each frame,
/// innermost first.
std::vector<std::vector<Frame>> ask_addr2line(const std::string& program,
                                              const std::string& addresses_file) {
    std::istringstream lines{
        run(std::string{ADDR2LINE} + " -afiC -e " + program + " @" + addresses_file)};
    std::vector<std::vector<Frame>> result;
    std::string text;
    std::string place;
    while (std::getline(lines, text)) {
        if (text.starts_with("0x")) {
            result.emplace_back();
            continue;
        }
        std::getline(lines, place);
        place = place.substr(0, place.find(" (discriminator"));
        const std::size_t colon = place.rfind(':');
        const std::string path = place.substr(0, colon);
        const std::string line = place.substr(colon + 1);
        result.back().push_back({text, path.substr(path.rfind('/') + 1),
                                 line == "?" ? 0 : static_cast<std::uint32_t>(std::stoul(line))});
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

/// The same function, but for what differs on purpose: addr2line gives a function without a linkage
/// name its bare name, in the compiler's own spelling, and often doesn't say which part or copy of
/// a function it is.
bool is_same_function(const std::string& ours, const std::string& theirs) {
    const std::string whole = without_clones(ours);
    const std::string bare = theirs.substr(0, theirs.find_first_of("<("));
    return whole == without_clones(theirs) ||
           ((bare.find("::") == std::string::npos || bare.starts_with("operator ")) &&
            whole.find(bare) != std::string::npos);
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

class PeersTest : public TempFolderTest {
protected:
    void SetUp() override { names_ = names_by_address(program_); }

    [[nodiscard]] bool is_alias(const FunctionSymbol& function, const std::string& name) const {
        const auto [first, last] = names_.equal_range(function.start);
        return std::any_of(first, last,
                           [&](const auto& entry) { return is_same_function(entry.second, name); });
    }

    [[nodiscard]] static bool is_in_file(const Symbols& symbols, const SymbolFrame& ours,
                                         const Frame& theirs) {
        return symbols.files.at(ours.file).ends_with(theirs.file);
    }

    [[nodiscard]] bool is_same(const Symbols& symbols, std::size_t address,
                               const std::vector<Frame>& theirs) const {
        const auto ours = symbols.frames_of(address);
        const FunctionSymbol& outermost = symbols.functions.at(ours.back().function);
        bool same = ours.size() == theirs.size() && is_alias(outermost, theirs.back().function);
        for (std::size_t i = 0; same && i < ours.size(); ++i) {
            const std::string& name = symbols.functions.at(ours[i].function).name;
            // addr2line gives the symbol's name, and its file, to a frame without a linkage name.
            same = ours[i].line == theirs[i].line &&
                   (is_alias(outermost, theirs[i].function) || name == theirs[i].function ||
                    (is_in_file(symbols, ours[i], theirs[i]) &&
                     is_same_function(name, theirs[i].function)));
        }
        return same;
    }

    const std::string program_ = std::filesystem::read_symlink("/proc/self/exe");
    std::multimap<std::uint64_t, std::string> names_;
};

TEST_F(PeersTest, agrees_with_addr2line) {
    const std::vector<std::uint64_t> addresses = sample_addresses(program_);
    ASSERT_EQ(addresses.size(), kAddresses);
    std::ofstream list{path("addresses")};
    for (const std::uint64_t address : addresses) {
        list << std::hex << "0x" << address << "\n";
    }
    list.close();
    const std::vector<std::vector<Frame>> theirs = ask_addr2line(program_, path("addresses"));
    const Symbols ours = symbolize({program_, {}}, addresses).symbols;
    ASSERT_EQ(theirs.size(), ours.runs.size());
    std::size_t same = 0;
    std::size_t inlined = 0;
    std::size_t in_file = 0;
    std::string differences;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        inlined += ours.frames_of(i).size() > 1 ? 1 : 0;
        if (is_same(ours, i, theirs[i])) {
            ++same;
            in_file += is_in_file(ours, ours.frames_of(i).front(), theirs[i].front()) ? 1 : 0;
            continue;
        }
        differences += "at " + std::to_string(addresses[i]) + "\n";
        for (const SymbolFrame& frame : ours.frames_of(i)) {
            differences += "  ours " + ours.functions[frame.function].name + " " +
                           std::to_string(frame.line) + "\n";
        }
        for (const Frame& frame : theirs[i]) {
            differences +=
                "  addr2line " + frame.function + " " + std::to_string(frame.line) + "\n";
        }
    }
    RecordProperty("same", static_cast<int>(same));
    EXPECT_GT(inlined, addresses.size() / 10);
    EXPECT_GE(same * 1000, addresses.size() * 999) << differences;
    // Of some builds addr2line 2.40 names the source of the whole unit for lines of a header.
    EXPECT_GE(in_file * 10, addresses.size() * 9);
}

}  // namespace
}  // namespace sample::symbolize
