// Modules with a function of every kind of rule, and where decisions come from: a seed or a
// fuzzer's bytes. What the stacks of memo_stack.h are made of.
#pragma once

#include "tests/unwind/cfi_builder.h"
#include "unwind/walk/module_table.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sample::unwind::testing {

class Choices {
public:
    explicit Choices(std::uint64_t seed) : state_{seed * 2 + 1} {}
    explicit Choices(std::span<const std::uint8_t> bytes) : bytes_{bytes}, by_bytes_{true} {}

    [[nodiscard]] bool exhausted() const { return by_bytes_ && bytes_.empty(); }
    /// In [0, n).
    std::uint64_t below(std::uint64_t n) { return (by_bytes_ ? taken(n) : next()) % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    std::uint64_t word() { return by_bytes_ ? taken(~std::uint64_t{0}) : next(); }

private:
    /// splitmix64.
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    std::uint64_t taken(std::uint64_t n) {
        std::uint64_t value = 0;
        for (; n > 1 && !bytes_.empty(); n >>= 8) {
            value = value << 8 | bytes_.front();
            bytes_ = bytes_.subspan(1);
        }
        return value;
    }

    std::uint64_t state_ = 0;
    std::span<const std::uint8_t> bytes_;
    bool by_bytes_ = false;
};

/// A function a kind; its code is 16 bytes.
enum class Kind : std::uint8_t {
    leaf,            ///< CFA = rsp + 8
    small,           ///< CFA = rsp + 24, or + 40 in every other generation.
    large,           ///< CFA = rsp + 144
    saves_bp,        ///< CFA = rsp + 32, rbp' = *(CFA - 16)
    frame_pointer,   ///< CFA = rbp + 16, rbp' = *(CFA - 16)
    keeps_bp,        ///< CFA = rbp + 16, rbp' = rbp
    bp_above,        ///< CFA = rsp + 16, rbp' = *(CFA + 8)
    realigned,       ///< CFA = *(rbp - 8), rbp' = *rbp
    deref,           ///< CFA = *(rsp + 16) + 8
    deref_saves_bp,  ///< The same, rbp' = *(CFA - 16)
    deref_at_bp,     ///< The same, rbp' = *rbp
    saves_bx,        ///< CFA = rsp + 16, rbx' = *(CFA - 16)
    by_bx,           ///< CFA = rbx + 16
    moves_bp,        ///< CFA = rsp + 24, rbp' = rsp + 8: a full rule
    in_register,     ///< CFA = rsp, the return address in rdi: a full rule
    popped,          ///< CFA = rsp + 8, rbp' = *(CFA - 16), which lies below rsp: an epilogue.
    deref_bx,        ///< CFA = *(rbx)
    root,            ///< The return address is undefined.
    no_rule,         ///< Nothing covers it.
    trampoline,      ///< A signal frame with a ucontext.
    exact_caller,    ///< CFA = rsp + 16 in a signal frame: a full rule
    jit,             ///< In no module; with a frame pointer.
};
inline constexpr std::uint64_t kKinds = 22;

/// Two modules (signal frames need a CIE of their own), mapped elsewhere than they pretend.
class WorldModules {
public:
    /// `moved`: other modules at the same place; what was `small` is larger.
    explicit WorldModules(bool moved) {
        CfiBuilder plain;
        for (std::int32_t kind = 0; kind <= static_cast<std::int32_t>(Kind::root); ++kind) {
            plain.fde(16 * kind, 16,
                      moved && static_cast<Kind>(kind) == Kind::small
                          ? Bytes{0x0e, 40}
                          : program(static_cast<Kind>(kind)));
        }
        CfiBuilder signals;
        signals.augmentation = "zRS";
        signals.fde(0, 16, {0x0f, 4, 0x77, 0xa0, 0x01, 0x06}).fde(16, 16, {0x0e, 16});
        add(plain, kBase);
        add(signals, kSignals);
    }
    [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

    static std::uint64_t begin(Kind kind) {
        switch (kind) {
            case Kind::trampoline:
                return kSignals + CfiBuilder::kCodeOffset;
            case Kind::exact_caller:
                return kSignals + CfiBuilder::kCodeOffset + 16;
            case Kind::jit:
                return kJit;
            default:
                return kBase + CfiBuilder::kCodeOffset + 16 * static_cast<std::uint64_t>(kind);
        }
    }
    /// Where a call from `kind` returns to: after a direct call, or after one through a register.
    static std::uint64_t site(Kind kind, bool direct) { return begin(kind) + (direct ? 9 : 13); }

private:
    static constexpr std::uint64_t kBase = 0x40000000;
    static constexpr std::uint64_t kSignals = 0x50000000;
    static constexpr std::uint64_t kJit = 0x60000000;
    static constexpr std::size_t kCodeBytes = 0x180;
    static constexpr std::size_t kTableBytes = 8192;

    static Bytes program(Kind kind) {
        switch (kind) {
            case Kind::small:
                return {0x0e, 24};
            case Kind::large:
                return {0x0e, 0x90, 1};
            case Kind::saves_bp:
                return {0x0e, 32, 0x86, 2};
            case Kind::frame_pointer:
                return {0x0c, 6, 16, 0x86, 2};
            case Kind::keeps_bp:
                return {0x0c, 6, 16};
            case Kind::bp_above:
                return {0x0e, 16, 0x11, 6, 0x7f};
            case Kind::realigned:
                return {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0};
            case Kind::deref:
                return {0x0f, 5, 0x77, 16, 0x06, 0x23, 8};
            case Kind::deref_saves_bp:
                return {0x0f, 5, 0x77, 16, 0x06, 0x23, 8, 0x86, 2};
            case Kind::deref_at_bp:
                return {0x0f, 5, 0x77, 16, 0x06, 0x23, 8, 0x10, 6, 2, 0x76, 0};
            case Kind::saves_bx:
                return {0x0e, 16, 0x83, 2};
            case Kind::by_bx:
                return {0x0c, 3, 16};
            case Kind::moves_bp:
                return {0x0e, 24, 0x16, 6, 2, 0x77, 8};
            case Kind::in_register:
                return {0x0e, 0, 0x09, 16, 5};
            case Kind::popped:
                return {0x86, 2};
            case Kind::deref_bx:
                return {0x0f, 3, 0x73, 0, 0x06};
            case Kind::root:
                return {0x07, 16};
            default:
                return {};
        }
    }

    void add(CfiBuilder& builder, std::uint64_t base) {
        const cfi::Tables tables = builder.tables();
        auto& image = images_.emplace_back(CfiBuilder::kCodeOffset + kCodeBytes);
        std::memcpy(image.data(), builder.bytes(), kTableBytes);
        // In each function a call of the code without rules, and one through a register.
        for (std::size_t at = CfiBuilder::kCodeOffset; at < image.size(); at += 16) {
            const auto target = static_cast<std::int32_t>(begin(Kind::no_rule) - (base + at + 9));
            image[at + 4] = 0xe8;
            std::memcpy(&image[at + 5], &target, sizeof target);
            image[at + 11] = 0xff;
            image[at + 12] = 0xd0;
        }
        Module module;
        module.span = {base, base + image.size()};
        module.header = base;
        module.header_size = tables.header_size;
        module.tables = {base, base + kTableBytes};
        module.code = {base + CfiBuilder::kCodeOffset, base + image.size()};
        module.image_delta = reinterpret_cast<std::uint64_t>(image.data()) - base;
        modules_.push_back(module);
    }

    std::vector<Bytes> images_;
    std::vector<Module> modules_;
};

}  // namespace sample::unwind::testing
