// Fuzzes the walker: registers and a copied stack from the input, walked over this process's own
// modules and one whose tables are input too.
#include "bench/unwind/loaded_modules.h"
#include "tests/unwind/aarch64/aarch64.h"
#include "unwind/walk/walk.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using namespace sample::unwind;  // NOLINT(google-build-using-namespace): a program of one file
using sample::FrameAddress;

constexpr std::uint64_t kForeign = 0x10000;  ///< Where the module made of input pretends to be.
constexpr std::size_t kForeignBytes = 256;
constexpr std::uint64_t kStack = 0x7ffc00000000;

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : data_{data}, size_{size} {}
    std::vector<std::byte> take(std::size_t count) {
        const std::size_t got = count < size_ ? count : size_;
        std::vector<std::byte> bytes(got);
        if (got != 0) {
            std::memcpy(bytes.data(), data_, got);
        }
        data_ += got;
        size_ -= got;
        return bytes;
    }
    std::uint64_t word() {
        std::uint64_t value = 0;
        const std::vector<std::byte> bytes = take(sizeof(value));
        if (!bytes.empty()) {
            std::memcpy(&value, bytes.data(), bytes.size());
        }
        return value;
    }
    [[nodiscard]] std::size_t left() const { return size_; }

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

/// Input words are mostly no addresses: the low bits choose to make them one.
std::uint64_t address_like(std::uint64_t word, const std::vector<Module>& modules) {
    switch (word & 3) {
        case 0:
            return kStack + ((word >> 2) & 0xfff8);
        case 1: {
            const AddressRange code = modules[(word >> 2) % modules.size()].code;
            return code.end > code.begin ? code.begin + (word >> 8) % (code.end - code.begin) : 0;
        }
        case 2:
            return kForeign + ((word >> 2) & 0xffff);
        default:
            return word;
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<Module> loaded = loaded_modules();
    static const auto storage = std::make_unique<std::array<RowCache::Entry, 256>>();
    static std::uint64_t generation = 0;

    Input input{data, size};
    const std::vector<std::byte> tables = input.take(kForeignBytes);
    const auto bytes = reinterpret_cast<std::uint64_t>(tables.data());
    Module foreign;
    foreign.span = {kForeign, kForeign + 0x10000};
    foreign.header = kForeign;
    foreign.header_size = tables.size();
    foreign.tables = {kForeign, kForeign + tables.size()};
    foreign.code = foreign.tables;
    foreign.image_delta = bytes - kForeign;
    std::vector<Module> modules = loaded;
    modules.push_back(foreign);
    modules.resize(sort_modules(modules));

    Registers registers{};
    for (std::uint64_t& value : registers.value) {
        value = address_like(input.word(), modules);
    }
    // An aarch64 program of the same bytes.
    BasicRegisters<arch::Aarch64> foreign_registers{};
    for (std::size_t reg = 0; reg < foreign_registers.value.size(); ++reg) {
        foreign_registers.value[reg] = registers.value[reg % Registers::kCount];
    }
    std::vector<std::uint64_t> stack;
    while (input.left() >= sizeof(std::uint64_t)) {
        stack.push_back(address_like(input.word(), modules));
    }
    StackMemory memory = StackMemory::recorded(kStack, std::as_bytes(std::span{stack}));
    RowCache cache{*storage};
    std::array<FrameAddress, 128> out{};
    const WalkResult result =
        walk(ModuleTable{modules, ++generation, LoaderLookup::off}, cache, registers, memory, out);
    if (result.depth == 0 || result.depth > out.size()) {
        std::abort();
    }
    const WalkResult foreign_result = walk(ModuleTable{modules, ++generation, LoaderLookup::off},
                                           cache, foreign_registers, memory, out);
    if (foreign_result.depth == 0 || foreign_result.depth > out.size()) {
        std::abort();
    }
    return 0;
}
