// A hand-made aarch64 program: tables, code bytes where a test needs some, a stack, registers.
#pragma once

#include "tests/unwind/aarch64/aarch64.h"
#include "tests/unwind/cfi_builder.h"
#include "unwind/walk/walk.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace sample::unwind::testing {

using Arch = arch::Aarch64;
using Numbers = Arch::Numbers;

class Aarch64World {
public:
    static constexpr std::uint64_t kStack = 0x5500801000;
    static constexpr std::uint64_t kStubs = 0x5500000000;  ///< A module without tables.

    Aarch64World() {
        builder.alignment = {4, 0x78};
        builder.return_column = {30};
        builder.initial = {0x0c, 31, 0};  // def_cfa sp, 0
        registers.value[Numbers::kSp] = kStack;
    }

    /// Into `out`, or, if there is one, through the memo.
    WalkResult walk(StackMemo* memo = nullptr) {
        const cfi::Tables tables = builder.tables();
        Module program;
        program.span = {builder.pc(0), builder.pc(kCodeBytes)};
        program.code = program.span;
        program.header = tables.header;
        program.header_size = tables.header_size;
        program.tables = {tables.low, tables.high};
        Module stubs;
        stubs.span = {kStubs, kStubs + 4096};
        stubs.code = {kStubs, kStubs + stub_words.size() * 4};
        stubs.image_delta = reinterpret_cast<std::uint64_t>(stub_words.data()) - kStubs;
        std::array<Module, 2> both{program, stubs};
        const std::size_t count = sort_modules(both);
        const ModuleTable modules{std::span{both}.first(count), 1, LoaderLookup::off};
        StackMemory memory = StackMemory::recorded(kStack, std::as_bytes(std::span{stack}));
        RowCache cache{*storage_};
        if (memo != nullptr) {
            return unwind::walk(modules, cache, registers, memory, *memo, out.size());
        }
        return unwind::walk(modules, cache, registers, memory, std::span{out});
    }
    [[nodiscard]] std::vector<FrameAddress> frames() {
        const WalkResult result = walk();
        return {out.begin(), out.begin() + result.depth};
    }

    void set(std::uint64_t reg, std::uint64_t value) { registers.value[reg] = value; }
    [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const { return builder.pc(offset); }
    [[nodiscard]] FrameAddress leaf(std::uint64_t offset) const {
        return FrameAddress{Pc{pc(offset)}};
    }
    [[nodiscard]] FrameAddress caller(std::uint64_t offset) const {
        return FrameAddress{ReturnAddress{pc(offset)}};
    }
    /// The stack's address of a word.
    static constexpr std::uint64_t at(std::uint64_t word) { return kStack + 8 * word; }
    /// Writes an instruction.
    void code(std::uint64_t offset, std::uint32_t word) const {
        std::memcpy(reinterpret_cast<void*>(pc(offset)), &word, sizeof(word));
    }

    CfiBuilder builder;

private:
    static constexpr std::size_t kCodeBytes = 0x1000;
    // The code that the builder speaks of lies 64 KiB behind its tables: in here.
    [[maybe_unused]] std::array<std::uint8_t, CfiBuilder::kCodeOffset + kCodeBytes>
        room_for_code_{};

public:
    BasicRegisters<Arch> registers{};
    std::array<std::uint64_t, 1024> stack{};
    std::array<FrameAddress, 512> out{};
    std::vector<std::uint32_t> stub_words;

private:
    std::unique_ptr<std::array<RowCache::Entry, 256>> storage_ =
        std::make_unique<std::array<RowCache::Entry, 256>>();
};

}  // namespace sample::unwind::testing
