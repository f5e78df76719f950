// The functions of a profile in the making: which function each address belongs to, and one
// FunctionId for each function.
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

/// Its name, with a mark if that is a guess; if none is known, a place in the module.
[[nodiscard]] std::string shown_name(const FunctionSymbol& symbol, std::string_view module);

/// True if a function known to the linker as `linkage_name` (may be empty), or shown as `name`, is
/// an entry into memory management. Symbol versions ("@GLIBC_2.2.5"), the compiler's clone suffixes
/// (".cold", ".part.0", " [clone …]") and a demangled name's arguments make no difference.
/// Thread-safe.
[[nodiscard]] bool is_memory_management(std::string_view linkage_name, std::string_view name);

/// Keeps references to both arguments of its constructor.
class FunctionTable {
public:
    FunctionTable(const Recording& recording, const Symbols& symbols);

    /// At least 1; all but the last were inlined.
    [[nodiscard]] std::uint32_t frames_at(std::uint32_t address) const {
        return std::max(run(address).count, 1U);
    }
    [[nodiscard]] FunctionId function(FrameIndex at) const { return FunctionId{code(at) + 1}; }
    /// Where in the function's source the frame is; 0 if unknown, or in another file (which the
    /// function includes in its middle).
    [[nodiscard]] std::uint32_t line(FrameIndex at) const;
    /// True for an entry into memory management.
    [[nodiscard]] bool is_memory_entry(FrameIndex at) const {
        return codes_[code(at)].is_memory_entry;
    }
    /// The pseudo-function that stands for memory management, made when first asked for.
    [[nodiscard]] FunctionId memory();
    /// The pseudo-function of a zone, one of the recording's labels: "zone NAME".
    [[nodiscard]] FunctionId zone(std::uint32_t index);

    /// Every function, without figures; [id - 1].
    [[nodiscard]] std::vector<Function> functions() const;
    /// What their Function::module says; [0] is the unknown one.
    [[nodiscard]] const std::vector<CodeModule>& modules() const { return modules_; }
    /// None if memory() was never called.
    [[nodiscard]] FunctionId memory_or_none() const { return memory_; }

private:
    struct Code {
        std::string_view name;
        std::string_view source;
        std::string_view linkage_name;
        std::uint32_t module = 0;  ///< Index into modules_.
        std::uint32_t line = 0;
        std::uint32_t flags = 0;
        bool is_memory_entry = false;
    };
    struct CodeTraits {
        static std::uint64_t hash(const Code& code);
        static bool equal(const Code& left, const Code& right);
    };

    static constexpr std::uint32_t kNoCode = 0xffffffff;

    void add_place(std::uint32_t address);
    /// The index into modules_ of a file of code: files with one path are one, and so is all code
    /// made at run time.
    std::uint32_t module_index(ModuleId id, const trace::Module& module);
    /// The code of a function of `symbols_`, made when it is first seen.
    void add_code(std::uint32_t function, std::uint32_t module, std::uint32_t flags);
    [[nodiscard]] FrameRun run(std::uint32_t address) const {
        return nameless_[address] == kNoCode ? symbols_.runs[address] : FrameRun{};
    }
    [[nodiscard]] std::uint32_t code(FrameIndex at) const;
    /// "module+0xoffset", kept for as long as this table lives.
    std::string_view offset_name(const CodeAddress& place, std::uint32_t module);

    const Recording& recording_;
    const Symbols& symbols_;
    std::vector<std::uint32_t> nameless_;          ///< By address: its code, if it has no symbols.
    std::vector<std::uint32_t> code_of_function_;  ///< By index into symbols_.functions.
    std::vector<CodeModule> modules_{CodeModule{}};
    std::unordered_map<std::string_view, std::uint32_t> module_of_path_;
    std::vector<std::uint32_t> module_of_id_;  ///< Index into modules_; 0: not made yet.
    InternTable<Code, CodeTraits> codes_;
    FunctionId memory_;
    std::deque<std::string> made_names_;  ///< A deque, so that views of them stay valid.
};

}  // namespace sample::callgraph
