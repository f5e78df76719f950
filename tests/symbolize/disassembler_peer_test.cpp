// The instructions of a real library; objdump, which uses libopcodes in another way, is the peer.
#include "support.h"
#include "symbolize/code/disassembler.h"
#include "tests/built.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

/// What objdump says of one function.
struct PeerFunction {
    std::uint64_t start = 0;
    std::vector<std::byte> code;
    std::vector<std::uint64_t> addresses;
    std::vector<std::string> mnemonics;
};

std::string first_word(const std::string& text) {
    return text.substr(0, text.find_first_of(" \t"));
}

/// Lines like "  1139:\t48 89 e5 \tmov    %rsp,%rbp"; an empty line ends a function.
std::vector<PeerFunction> parse_objdump(const std::string& listing) {
    std::vector<PeerFunction> functions(1);
    std::istringstream in{listing};
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(":\t");
        const std::size_t second = line.find('\t', first + 2);
        if (first == std::string::npos || second == std::string::npos) {
            if (!functions.back().code.empty()) {
                functions.emplace_back();
            }
            continue;
        }
        PeerFunction& function = functions.back();
        const std::uint64_t address = std::stoull(line.substr(0, first), nullptr, 16);
        if (function.code.empty()) {
            function.start = address;
        }
        function.addresses.push_back(address);
        function.mnemonics.push_back(first_word(line.substr(second + 1)));
        std::istringstream digits{line.substr(first + 2, second - first - 2)};
        for (std::string byte; digits >> byte;) {
            function.code.push_back(static_cast<std::byte>(std::stoi(byte, nullptr, 16)));
        }
    }
    return functions;
}

TEST(DisassemblerPeer, agrees_on_the_agent_library) {
    const std::string listing = run(std::string{OBJDUMP} + " -d -w " + built::kAgent);
    auto disassembler = Disassembler::create(EM_X86_64);
    ASSERT_TRUE(disassembler) << disassembler.error().message();
    std::size_t compared = 0;
    for (const PeerFunction& function : parse_objdump(listing)) {
        const auto ours = disassembler->disassemble(function.start, function.code);
        ASSERT_EQ(ours.size(), function.addresses.size()) << std::hex << function.start;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            ASSERT_EQ(ours[i].address, function.addresses[i]);
            ASSERT_EQ(first_word(ours[i].text), function.mnemonics[i])
                << std::hex << ours[i].address << " " << ours[i].text;
        }
        compared += ours.size();
    }
    EXPECT_GE(compared, 10'000U);
}

}  // namespace
}  // namespace sample::symbolize
