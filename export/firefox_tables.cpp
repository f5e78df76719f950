#include "export/firefox_tables.h"

#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "export/json_column.h"
#include "export/json_string.h"

#include <array>
#include <utility>

namespace sample::exports {

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

void write_optional(Writer& out, std::uint32_t value, std::uint32_t none) {
    if (value == none) {
        out.text("null");
    } else {
        out.number(value);
    }
}

void constant_column(Writer& out, std::string_view key, std::size_t length,
                     std::string_view value) {
    json_column(out, key, length, [&](std::size_t) { out.text(value); });
}

}  // namespace

std::uint64_t FirefoxTables::FrameTraits::hash(const Frame& frame) {
    return callgraph::hash_pair(
        (std::uint64_t{frame.function} << 32) | frame.line,
        (std::uint64_t{frame.symbol} << 32) | (frame.inline_depth << 3) | index_of(frame.kind));
}

bool FirefoxTables::FrameTraits::equal(const Frame& left, const Frame& right) {
    return left.function == right.function && left.line == right.line &&
           left.symbol == right.symbol && left.inline_depth == right.inline_depth &&
           left.kind == right.kind;
}

FirefoxTables::FirefoxTables(const Profile& profile)
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

std::uint32_t FirefoxTables::string(std::string_view text) {
    const auto [found, is_new] =
        string_ids_.try_emplace(std::string{text}, static_cast<std::uint32_t>(strings_.size()));
    if (is_new) {
        strings_.push_back(found->first);
    }
    return found->second;
}

void FirefoxTables::add_strings() {
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
}

void FirefoxTables::add_frames() {
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

FirefoxTables::Frame FirefoxTables::frame_of(const Node& node, const Frame& caller) {
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

std::uint32_t FirefoxTables::symbol_of(std::uint32_t function) {
    std::uint32_t& symbol = symbol_of_[function];
    if (symbol == kNone && profile_.functions[function].module != 0) {
        symbol = static_cast<std::uint32_t>(symbols_.size());
        symbols_.push_back(function);
    }
    return symbol;
}

void FirefoxTables::write_categories(Writer& out) const {
    std::string modules = "\"Other\"";
    for (std::size_t i = 1; i < profile_.modules.size(); ++i) {
        modules += "," + json_string(profile_.modules[i].name);
    }
    std::string_view before = "[";
    for (std::size_t kind = 0; kind < kCodeKinds; ++kind) {
        out.text(before).text(R"({"name":)").text(json_string(kCodeKindNames[kind]));
        out.text(R"(,"color":")").text(kColors[kind]).text(R"(","subcategories":[)");
        out.text(has_modules(static_cast<CodeKind>(kind)) ? modules : "\"Other\"").text("]}");
        before = ",";
    }
    out.text("]");
}

void FirefoxTables::write_libs(Writer& out) const {
    std::string_view before = "[";
    for (std::size_t i = 1; i < profile_.modules.size(); ++i) {
        const CodeModule& module = profile_.modules[i];
        const std::string name = json_string(module.name);
        const std::string path = json_string(module.path);
        out.text(before).text(R"({"arch":"","name":)").text(name).text(R"(,"path":)").text(path);
        out.text(R"(,"debugName":)").text(name).text(R"(,"debugPath":)").text(path);
        out.text(R"(,"breakpadId":)").text(json_string(breakpad_id(module.build_id)));
        out.text(R"(,"codeId":)");
        out.text(module.build_id.empty() ? "null" : json_string(module.build_id)).text("}");
        before = ",\n";
    }
    out.text(profile_.modules.size() > 1 ? "]" : "[]");
}

void FirefoxTables::write_shared(Writer& out) const {
    out.text("{");
    write_stack_table(out);
    write_frame_table(out);
    write_function_table(out);
    write_resources_and_symbols(out);
    write_sources(out);
    out.text("\n\"stringArray\":[");
    std::string_view before;
    for (const std::string_view text : strings_) {
        out.text(before).text(json_string(text));
        before = ",\n";
    }
    out.text("]}");
}

void FirefoxTables::write_stack_table(Writer& out) const {
    const std::size_t length = frame_at_.size();
    out.text("\"stackTable\":{\"length\":").number(length);
    json_column(out, "frame", length, [&](std::size_t i) { out.number(frame_at_[i]); });
    json_column(out, "prefixOffset", length, [&](std::size_t i) {
        const NodeId parent = profile_.node(preorder_[i + 1]).parent;
        // What a category's node holds are roots: the track stands for the category.
        const bool is_root = parent.value == 0 || profile_.node(parent).function.is_none();
        out.number(is_root ? 0 : i - stack_of(parent));
    });
    out.text("},\n");
}

void FirefoxTables::write_frame_table(Writer& out) const {
    const std::span<const Frame> frames = frames_.entries();
    const std::size_t length = frames.size();
    const auto numbers = [&](std::string_view key, auto value_of) {
        json_column(out, key, length, [&](std::size_t i) { out.number(value_of(frames[i])); });
    };
    out.text("\"frameTable\":{\"length\":").number(length);
    constant_column(out, "address", length, "-1");
    numbers("inlineDepth", [](const Frame& frame) { return frame.inline_depth; });
    numbers("category", [](const Frame& frame) { return index_of(frame.kind); });
    numbers("subcategory", [&](const Frame& frame) -> std::uint64_t {
        return has_modules(frame.kind) ? function(frame.function).module : 0;
    });
    numbers("func", [](const Frame& frame) { return frame.function; });
    json_column(out, "nativeSymbol", length,
                [&](std::size_t i) { write_optional(out, frames[i].symbol, kNone); });
    constant_column(out, "innerWindowID", length, "0");
    json_column(out, "line", length,
                [&](std::size_t i) { write_optional(out, frames[i].line, 0); });
    constant_column(out, "column", length, "null");
    constant_column(out, "originalLocation", length, "null");
    out.text("},\n");
}

void FirefoxTables::write_function_table(Writer& out) const {
    const std::size_t length = function_count();
    const std::size_t known = profile_.functions.size();
    out.text("\"funcTable\":{\"length\":").number(length);
    json_column(out, "name", length, [&](std::size_t i) { out.number(function_names_[i]); });
    constant_column(out, "isJS", length, "false");
    constant_column(out, "relevantForJS", length, "false");
    json_column(out, "resource", length, [&](std::size_t i) {
        const std::uint32_t module = i < known ? profile_.functions[i].module : 0;
        if (module == 0) {
            out.text("-1");
        } else {
            out.number(module - 1);
        }
    });
    json_column(out, "source", length,
                [&](std::size_t i) { write_optional(out, function_sources_[i], kNone); });
    json_column(out, "lineNumber", length, [&](std::size_t i) {
        write_optional(out, i < known ? profile_.functions[i].line : 0, 0);
    });
    constant_column(out, "columnNumber", length, "null");
    constant_column(out, "originalLocation", length, "null");
    out.text("},\n");
}

void FirefoxTables::write_resources_and_symbols(Writer& out) const {
    constexpr std::string_view kLibrary = "1";
    const std::size_t modules = profile_.modules.size() - 1;
    out.text("\"resourceTable\":{\"length\":").number(modules);
    json_column(out, "lib", modules, [&](std::size_t i) { out.number(i); });
    json_column(out, "name", modules, [&](std::size_t i) { out.number(module_names_[i + 1]); });
    constant_column(out, "host", modules, "null");
    constant_column(out, "type", modules, kLibrary);
    const std::size_t symbols = symbols_.size();
    out.text("},\n\"nativeSymbols\":{\"length\":").number(symbols);
    json_column(out, "libIndex", symbols,
                [&](std::size_t i) { out.number(function(symbols_[i]).module - 1); });
    constant_column(out, "address", symbols, "0");
    json_column(out, "name", symbols,
                [&](std::size_t i) { out.number(function_names_[symbols_[i]]); });
    constant_column(out, "functionSize", symbols, "null");
    out.text("},\n");
}

void FirefoxTables::write_sources(Writer& out) const {
    const std::size_t length = sources_.size();
    out.text("\"sources\":{\"length\":").number(length);
    constant_column(out, "id", length, "null");
    json_column(out, "filename", length, [&](std::size_t i) { out.number(sources_[i]); });
    constant_column(out, "startLine", length, "1");
    constant_column(out, "startColumn", length, "1");
    constant_column(out, "sourceMapURL", length, "null");
    constant_column(out, "content", length, "null");
    out.text("},\n\"sourceLocationTable\":{\"length\":0,\"source\":[],\"line\":[],\"column\":[]},");
}

}  // namespace sample::exports
