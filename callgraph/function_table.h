// The functions of a profile in the making: which function each address belongs to, and one
// FunctionId for each function and set of flags.
#pragma once

#include "callgraph/build_profile.h"
#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::callgraph {

/// One of the functions at work in an address: frame 0 is the innermost.
struct FrameIndex {
    std::uint32_t address = 0;  ///< Index into Recording::addresses().
    std::uint32_t frame = 0;    ///< Below frames_at(address).
};

/// Its name, with a mark if that is a guess.
[[nodiscard]] std::string shown_name(const FunctionSymbol& symbol);

/// Keeps references to both arguments of its constructor.
class FunctionTable {
public:
    FunctionTable(const Recording& recording, const Symbols& symbols);

    /// At least 1; all but the last were inlined.
    [[nodiscard]] std::uint32_t frames_at(std::uint32_t address) const {
        return std::max(run(address).count, 1U);
    }
    /// With `inherited` flags added to its own.
    [[nodiscard]] FunctionId function(FrameIndex at, std::uint32_t inherited);
    /// Where in the function's source the frame is; 0 if unknown, or in another file (which the
    /// function includes in its middle).
    [[nodiscard]] std::uint32_t line(FrameIndex at) const;
    [[nodiscard]] std::uint32_t own_flags(std::uint32_t address) const {
        return places_[address].flags;
    }
    /// True for an entry into memory management.
    [[nodiscard]] bool is_gc_entry(FrameIndex at) const { return codes_[code(at)].is_gc_entry; }
    /// The pseudo-function that stands for memory management, made when first asked for.
    [[nodiscard]] FunctionId gc();

    /// Every function that was asked for, without figures; [id - 1].
    [[nodiscard]] std::vector<Function> functions() const;
    /// What their Function::module says; [0] is the unknown one.
    [[nodiscard]] const std::vector<CodeModule>& modules() const { return modules_; }
    /// None if gc() was never called.
    [[nodiscard]] FunctionId gc_or_none() const { return gc_; }

private:
    struct Place {
        std::uint32_t code = kNoCode;  ///< Of an address without symbols.
        std::uint32_t flags = 0;
    };
    /// A function without flags.
    struct Code {
        std::string_view name;
        std::string_view source;
        std::string_view linkage_name;
        std::uint32_t module = 0;  ///< Index into modules_.
        std::uint32_t line = 0;
        bool is_gc_entry = false;
    };
    struct CodeTraits {
        static std::uint64_t hash(const Code& code);
        static bool equal(const Code& left, const Code& right);
    };
    struct Flagged {
        std::uint32_t code = 0;
        std::uint32_t flags = 0;
    };
    struct FlaggedTraits {
        static std::uint64_t hash(const Flagged& key) { return hash_pair(key.code, key.flags); }
        static bool equal(const Flagged& left, const Flagged& right) {
            return left.code == right.code && left.flags == right.flags;
        }
    };

    static constexpr std::uint32_t kNoCode = 0xffffffff;

    void add_place(std::uint32_t address);
    /// The index into modules_ of a file of code: files with one path are one, and so is all code
    /// made at run time.
    std::uint32_t module_index(ModuleId id, const trace::Module& module);
    /// The code of a function of `symbols_`, made when it is first seen.
    void add_code(std::uint32_t function, std::uint32_t module);
    [[nodiscard]] FrameRun run(std::uint32_t address) const {
        return places_[address].code == kNoCode ? symbols_.runs[address] : FrameRun{};
    }
    [[nodiscard]] std::uint32_t code(FrameIndex at) const;
    /// "module+0xoffset", kept for as long as this table lives.
    std::string_view offset_name(const CodeAddress& place, std::uint32_t module);

    const Recording& recording_;
    const Symbols& symbols_;
    std::vector<Place> places_;
    std::vector<std::uint32_t> code_of_function_;  ///< By index into symbols_.functions.
    std::vector<CodeModule> modules_{CodeModule{}};
    std::unordered_map<std::string_view, std::uint32_t> module_of_path_;
    std::vector<std::uint32_t> module_of_id_;  ///< Index into modules_; 0: not made yet.
    InternTable<Code, CodeTraits> codes_;
    InternTable<Flagged, FlaggedTraits> flagged_;
    FunctionId gc_;
    std::deque<std::string> made_names_;  ///< A deque, so that views of them stay valid.
};

}  // namespace sample::callgraph
