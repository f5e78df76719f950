// The tables of a Firefox profile that all its threads share: strings, functions, frames, stacks,
// libraries and sources, and the categories that frames are coloured by.
//
// A node of the profile is a stack, whose index is the node's place in preorder, so that a stack's
// prefix always has a lower index than the stack; the root is none. A frame is what nodes have in
// common: function, line, how deep it is inlined, and in what. Of all this only what cannot be
// computed while writing is kept: 12 bytes a node, and the frames.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "export/shared/functions.h"
#include "export/shared/writer.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::exports::firefox {

inline constexpr std::uint64_t kMs = 1'000'000;  ///< The format's unit, in nanoseconds.

class Tables {
public:
    /// `profile` must outlive this. O(nodes).
    explicit Tables(const callgraph::Profile& profile);

    /// The value of meta.categories.
    void write_categories(Writer& out) const;
    /// The value of libs.
    void write_libs(Writer& out) const;
    /// The value of shared.
    void write_shared(Writer& out) const;

    /// The string that a marker of the profile's is called by: its name, or, where that is a text,
    /// what it is.
    [[nodiscard]] std::uint32_t marker_name(std::size_t marker) const {
        return marker_names_[marker];
    }
    /// Of any node but the root.
    [[nodiscard]] std::uint32_t stack_of(NodeId node) const { return place_of_[node.value] - 1; }
    /// Every node by its place in preorder; the root is first.
    [[nodiscard]] std::span<const NodeId> preorder() const { return preorder_; }

private:
    static constexpr std::uint32_t kNone = 0xffffffff;

    struct Frame {
        std::uint32_t function = 0;    ///< Index into the function table.
        std::uint32_t line = 0;        ///< 0: not known.
        std::uint32_t symbol = kNone;  ///< What it is inlined into, or is itself.
        std::uint32_t inline_depth = 0;
        CodeKind kind = CodeKind::code;
    };
    struct FrameTraits {
        static std::uint64_t hash(const Frame& frame);
        static bool equal(const Frame& left, const Frame& right);
    };

    std::uint32_t string(std::string_view text);
    void add_strings();
    void add_frames();
    [[nodiscard]] Frame frame_of(const callgraph::Node& node, const Frame& caller);
    /// The native symbol of a function; kNoSymbol if it lies in no file.
    std::uint32_t symbol_of(std::uint32_t function);
    void write_frame_table(Writer& out) const;
    void write_function_table(Writer& out) const;
    void write_resources_and_symbols(Writer& out) const;

    const callgraph::Profile& profile_;
    std::vector<NodeId> preorder_;
    std::vector<std::uint32_t> place_of_;  ///< By NodeId's value: in preorder.
    std::vector<std::uint32_t> frame_at_;  ///< By stack.
    callgraph::InternTable<Frame, FrameTraits> frames_;
    std::vector<CodeKind> kinds_;           ///< By function.
    std::vector<std::uint32_t> symbol_of_;  ///< By function; kNone: not used as a symbol.
    std::vector<std::uint32_t> symbols_;    ///< The functions that are.

    std::unordered_map<std::string, std::uint32_t> string_ids_;
    std::vector<std::string_view> strings_;
    std::vector<std::uint32_t> function_names_;
    std::vector<std::uint32_t> function_sources_;  ///< Index into sources_; kNone: not known.
    std::vector<std::uint32_t> module_names_;
    std::vector<std::uint32_t> marker_names_;
    std::vector<std::uint32_t> sources_;  ///< Strings.
};

}  // namespace sample::exports::firefox
