// Machine code to text, by binutils' libopcodes, in this process.
//
// The bytes may be anything: what is no instruction is shown as "(bad)" or ".byte 0xe8", and
// nothing outside the span is read.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

enum class AssemblySyntax : std::uint8_t { att, intel };

struct Instruction {
    std::uint64_t address = 0;
    std::uint8_t size = 1;
    std::uint64_t target = 0;  ///< Where it jumps or calls; 0: nowhere, or not known from the code.
    std::string text;          ///< Mnemonic and operands, one line, at most some hundred bytes.
};

/// What an address that an instruction names is called, e.g. "<compute(int)+0x12>"; empty if
/// nothing is known.
using AddressNamer = std::function<std::string(std::uint64_t)>;

/// Not thread-safe. Not async-signal-safe.
class Disassembler {
public:
    /// `machine`: ELF e_machine. Errors: unsupported.
    [[nodiscard]] static Result<Disassembler> create(std::uint16_t machine,
                                                     AssemblySyntax syntax = AssemblySyntax::att);

    Disassembler(Disassembler&&) noexcept;
    Disassembler& operator=(Disassembler&&) noexcept;
    Disassembler(const Disassembler&) = delete;
    Disassembler& operator=(const Disassembler&) = delete;
    ~Disassembler();

    /// The instructions of `code`, which lies at `address`: without gaps, from its first byte to
    /// its last. Addresses are written as hexadecimal numbers, followed by what `namer` calls them.
    [[nodiscard]] std::vector<Instruction> disassemble(std::uint64_t address,
                                                       std::span<const std::byte> code,
                                                       const AddressNamer& namer = {});

    /// The same without their texts: three times as fast.
    [[nodiscard]] std::vector<Instruction> outline(std::uint64_t address,
                                                   std::span<const std::byte> code);

private:
    struct Impl;
    explicit Disassembler(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sample::symbolize
