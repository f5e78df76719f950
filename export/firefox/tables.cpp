#include "export/firefox/tables.h"

#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "export/firefox/markers.h"
#include "export/shared/json.h"

#include <array>
#include <utility>

namespace sample::exports::firefox {

namespace {

using callgraph::CodeModule;
using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

/// The profiler's names of colours, by kind; the first grey category is its default one.
constexpr std::array<std::string_view, kCodeKinds> kColors{
    "blue", "green", "purple", "yellow", "orange", "transparent", "grey"};

/// Kinds of code that modules are told apart in, as subcategories.
constexpr bool has_modules(CodeKind kind) {
    return kind == CodeKind::code || kind == CodeKind::plugin;
}

constexpr std::uint64_t index_of(CodeKind kind) {
    return static_cast<std::uint64_t>(kind);
}

/// An id as Breakpad makes it of a build-id: its first 16 bytes as a GUID, whose first three fields
/// are little-endian, in upper case, and an age of 0. Empty if there is no build-id.
/// Source: Breakpad, src/common/linux/file_id.cc.
std::string breakpad_id(std::string_view build_id) {
    if (build_id.empty()) {
        return {};
    }
    constexpr std::array<std::uint8_t, 16> kOrder{3, 2, 1,  0,  5,  4,  7,  6,
                                                  8, 9, 10, 11, 12, 13, 14, 15};
    std::string id;
    for (const std::uint8_t byte : kOrder) {
        for (const std::size_t at : {std::size_t{byte} * 2, std::size_t{byte} * 2 + 1}) {
            const char digit = at < build_id.size() ? build_id[at] : '0';
            id += digit >= 'a' && digit <= 'f' ? static_cast<char>(digit - 'a' + 'A') : digit;
        }
    }
    return id + "0";
}

/// A number, or null.
std::string number_or_null(std::uint32_t value, std::uint32_t none) {
    return value == none ? "null" : std::to_string(value);
}

/// A table of columns: `"name":{"length":…,"key":[…],…},`
class Table {
public:
    Table(Writer& out, std::string_view name, std::size_t length) : out_{out}, length_{length} {
        out.put("\"", name, "\":{\"length\":", length);
    }
    /// `cell(i)` is a text or number.
    template <class Cell>
    Table& column(std::string_view key, const Cell& cell) {
        json_column(out_, key, length_, cell);
        return *this;
    }
    Table& constant(std::string_view key, std::string_view value) {
        return column(key, [value](std::size_t) { return value; });
    }
    void end() { out_.put("},\n"); }

private:
    Writer& out_;
    std::size_t length_;
};

}  // namespace

std::uint64_t Tables::FrameTraits::hash(const Frame& frame) {
    return callgraph::hash_pair(
        (std::uint64_t{frame.function} << 32) | frame.line,
        (std::uint64_t{frame.symbol} << 32) | (frame.inline_depth << 3) | index_of(frame.kind));
}

bool Tables::FrameTraits::equal(const Frame& left, const Frame& right) {
    return left.function == right.function && left.line == right.line &&
           left.symbol == right.symbol && left.inline_depth == right.inline_depth &&
           left.kind == right.kind;
}

Tables::Tables(const Profile& profile)
    : profile_{profile},
      preorder_{callgraph::preorder(profile)},
      place_of_(profile.nodes.size()),
      symbol_of_(profile.functions.size(), kNone) {
    for (std::uint32_t place = 0; place < preorder_.size(); ++place) {
        place_of_[preorder_[place].value] = place;
    }
    add_strings();
    add_frames();
}

std::uint32_t Tables::string(std::string_view text) {
    const auto [found, is_new] =
        string_ids_.try_emplace(std::string{text}, static_cast<std::uint32_t>(strings_.size()));
    if (is_new) {
        strings_.push_back(found->first);
    }
    return found->second;
}

void Tables::add_strings() {
    std::unordered_map<std::uint32_t, std::uint32_t> source_of_string;
    for (const Function& function : profile_.functions) {
        const FunctionId id{static_cast<std::uint32_t>(function_names_.size() + 1)};
        kinds_.push_back(kind_of(profile_, id));
        function_names_.push_back(string(callgraph::label(function)));
        // A function without a known source file has its module's name there.
        if (function.source.empty() || function.source == profile_.module_of(function).name) {
            function_sources_.push_back(kNone);
            continue;
        }
        const auto [found, is_new] = source_of_string.try_emplace(
            string(function.source), static_cast<std::uint32_t>(sources_.size()));
        if (is_new) {
            sources_.push_back(found->first);
        }
        function_sources_.push_back(found->second);
    }
    for (const callgraph::Category& category : profile_.categories) {
        function_names_.push_back(string(category.name));
        function_sources_.push_back(kNone);
    }
    for (const CodeModule& module : profile_.modules) {
        module_names_.push_back(string(module.name));
    }
    for (const callgraph::Marker& marker : profile_.markers) {
        marker_names_.push_back(string(has_text(marker) ? schema_of(marker).name : marker.name));
    }
}

void Tables::add_frames() {
    frame_at_.reserve(preorder_.size());
    std::unordered_map<std::uint32_t, std::uint32_t> category_of_node;
    for (std::uint32_t i = 0; i < profile_.categories.size(); ++i) {
        category_of_node.emplace(profile_.categories[i].node.value, i);
    }
    for (std::size_t place = 1; place < preorder_.size(); ++place) {
        const Node& node = profile_.node(preorder_[place]);
        Frame frame;
        if (node.function.is_none()) {
            const auto category = category_of_node.find(preorder_[place].value);
            frame.function = static_cast<std::uint32_t>(profile_.functions.size()) +
                             (category == category_of_node.end() ? 0 : category->second);
            frame.symbol = kNone;
            frame.kind = CodeKind::no_stack;
        } else {
            const std::uint32_t caller = place_of_[node.parent.value];
            frame = frame_of(node, caller == 0 ? Frame{} : frames_[frame_at_[caller - 1]]);
        }
        frame_at_.push_back(frames_.intern(frame));
    }
}

Tables::Frame Tables::frame_of(const Node& node, const Frame& caller) {
    Frame frame;
    frame.function = node.function.value - 1;
    frame.line = node.line;
    frame.kind = caller.kind == CodeKind::memory ? CodeKind::memory : kinds_[frame.function];
    if (node.inlining == callgraph::Inlining::all) {
        frame.inline_depth = caller.inline_depth + 1;
        frame.symbol = caller.symbol;
    } else {
        frame.symbol = symbol_of(frame.function);
    }
    return frame;
}

std::uint32_t Tables::symbol_of(std::uint32_t function) {
    std::uint32_t& symbol = symbol_of_[function];
    if (symbol == kNone && profile_.functions[function].module != 0) {
        symbol = static_cast<std::uint32_t>(symbols_.size());
        symbols_.push_back(function);
    }
    return symbol;
}

void Tables::write_categories(Writer& out) const {
    std::string modules = "\"Other\"";
    for (std::size_t i = 1; i < profile_.modules.size(); ++i) {
        modules += "," + json_string(profile_.modules[i].name);
    }
    out.put("[");
    json_list(out, kCodeKinds, "", ",", [&](std::size_t kind) {
        const bool has_all = has_modules(static_cast<CodeKind>(kind));
        out.put(R"({"name":)", json_string(kCodeKindNames[kind]), R"(,"color":")", kColors[kind],
                R"(","subcategories":[)", has_all ? modules : "\"Other\"", "]}");
    });
    out.put("]");
}

void Tables::write_libs(Writer& out) const {
    out.put("[");
    json_list(out, profile_.modules.size() - 1, "", ",\n", [&](std::size_t i) {
        const CodeModule& module = profile_.modules[i + 1];
        const std::string name = json_string(module.name);
        const std::string path = json_string(module.path);
        out.put(R"({"arch":"","name":)", name, R"(,"path":)", path, R"(,"debugName":)", name,
                R"(,"debugPath":)", path, R"(,"breakpadId":)",
                json_string(breakpad_id(module.build_id)), R"(,"codeId":)",
                module.build_id.empty() ? "null" : json_string(module.build_id), "}");
    });
    out.put("]");
}

void Tables::write_shared(Writer& out) const {
    out.put("{");
    Table{out, "stackTable", frame_at_.size()}
        .column("frame", [&](std::size_t i) { return frame_at_[i]; })
        .column("prefixOffset",
                [&](std::size_t i) {
                    const NodeId parent = profile_.node(preorder_[i + 1]).parent;
                    // What a category's node holds are roots: the track stands for the category.
                    const bool is_root =
                        parent.value == 0 || profile_.node(parent).function.is_none();
                    return is_root ? 0 : i - stack_of(parent);
                })
        .end();
    write_frame_table(out);
    write_function_table(out);
    write_resources_and_symbols(out);
    Table{out, "sources", sources_.size()}
        .constant("id", "null")
        .column("filename", [&](std::size_t i) { return sources_[i]; })
        .constant("startLine", "1")
        .constant("startColumn", "1")
        .constant("sourceMapURL", "null")
        .constant("content", "null")
        .end();
    out.put(R"("sourceLocationTable":{"length":0,"source":[],"line":[],"column":[]},)",
            "\n\"stringArray\":[");
    json_list(out, strings_.size(), "", ",\n",
              [&](std::size_t i) { out.put(json_string(strings_[i])); });
    out.put("]}");
}

void Tables::write_frame_table(Writer& out) const {
    const std::span<const Frame> frames = frames_.entries();
    Table{out, "frameTable", frames.size()}
        .constant("address", "-1")
        .column("inlineDepth", [&](std::size_t i) { return frames[i].inline_depth; })
        .column("category", [&](std::size_t i) { return index_of(frames[i].kind); })
        .column("subcategory",
                [&](std::size_t i) {
                    return has_modules(frames[i].kind)
                               ? profile_.functions[frames[i].function].module
                               : 0;
                })
        .column("func", [&](std::size_t i) { return frames[i].function; })
        .column("nativeSymbol",
                [&](std::size_t i) { return number_or_null(frames[i].symbol, kNone); })
        .constant("innerWindowID", "0")
        .column("line", [&](std::size_t i) { return number_or_null(frames[i].line, 0); })
        .constant("column", "null")
        .constant("originalLocation", "null")
        .end();
}

void Tables::write_function_table(Writer& out) const {
    const std::vector<Function>& known = profile_.functions;
    Table{out, "funcTable", known.size() + profile_.categories.size()}
        .column("name", [&](std::size_t i) { return function_names_[i]; })
        .constant("isJS", "false")
        .constant("relevantForJS", "false")
        .column(
            "resource",
            [&](std::size_t i) { return std::int64_t{i < known.size() ? known[i].module : 0} - 1; })
        .column("source",
                [&](std::size_t i) { return number_or_null(function_sources_[i], kNone); })
        .column(
            "lineNumber",
            [&](std::size_t i) { return number_or_null(i < known.size() ? known[i].line : 0, 0); })
        .constant("columnNumber", "null")
        .constant("originalLocation", "null")
        .end();
}

void Tables::write_resources_and_symbols(Writer& out) const {
    constexpr std::string_view kLibrary = "1";
    Table{out, "resourceTable", profile_.modules.size() - 1}
        .column("lib", [](std::size_t i) { return i; })
        .column("name", [&](std::size_t i) { return module_names_[i + 1]; })
        .constant("host", "null")
        .constant("type", kLibrary)
        .end();
    Table{out, "nativeSymbols", symbols_.size()}
        .column("libIndex",
                [&](std::size_t i) { return profile_.functions[symbols_[i]].module - 1; })
        .constant("address", "0")
        .column("name", [&](std::size_t i) { return function_names_[symbols_[i]]; })
        .constant("functionSize", "null")
        .end();
}

}  // namespace sample::exports::firefox
