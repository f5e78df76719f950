// Any order of loads and moves, times and overlaps: what lies at an address now is what the obvious
// way finds, and every answer about the past is some code's.
#include "sampler/collector/code/jit_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

namespace {

using sample::collector::JitHistory;

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

struct Code {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t offset;
};

/// The last code that covers it.
std::optional<std::uint64_t> place(const std::vector<Code>& codes, std::uint64_t address) {
    for (auto code = codes.rbegin(); code != codes.rend(); ++code) {
        if (code->start <= address && address < code->end) {
            return code->offset + (address - code->start);
        }
    }
    return std::nullopt;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    JitHistory history;
    std::vector<Code> codes;
    std::uint64_t last_ns = 0;
    for (std::size_t i = 0; i + 4 <= size; i += 4) {
        const std::uint64_t address = data[i];
        const std::uint64_t bytes = data[i + 1] % 64;
        const std::uint64_t offset = 1000 * (i + 1);
        const std::uint64_t time_ns = data[i + 3];
        if (data[i + 2] % 4 != 0) {
            history.load(address, bytes, offset, time_ns);
            codes.push_back({address, address + bytes, offset});
        } else {
            // Moves as much as is one piece: where pieces end is the history's own affair.
            const std::uint64_t to = data[i + 2];
            const std::optional<std::uint64_t> from = place(codes, address);
            history.move(address, to, 1, time_ns);
            if (from) {
                codes.push_back({to, to + 1, *from});
            }
        }
        last_ns = std::max(last_ns, time_ns);
        if (data[i + 2] == 0xff) {
            history.forget_before(time_ns);
        }
        for (std::uint64_t probe = 0; probe < 256; probe += 3) {
            const auto found = history.find(probe, last_ns);
            require((found ? std::optional{found->code_offset} : std::nullopt) ==
                    place(codes, probe));
            const auto past = history.find(probe, data[i + 3] / 2);
            require(!past || past->code_offset >= 1000);
        }
    }
    return 0;
}
