// Machine code and source text as tests need them, and what they say as text.
#pragma once

#include "core/program_code.h"

#include <string>
#include <vector>

namespace sample::trace {

/// Two functions of a module, into the first of which another was inlined, and one that they call.
inline ModuleCode some_code() {
    ModuleCode code;
    code.machine = 62;
    code.blocks.push_back({0x1000, std::vector<std::byte>(5, std::byte{0x90})});
    code.blocks.push_back({0x1005, std::vector<std::byte>(3, std::byte{0xc3})});
    code.places = {0x1000, 0x1002, 0x1005, 0x4000};
    code.symbols.files.emplace_back("/src/app.cpp");
    for (const char* const name : {"compute(int)", "square(int)", "main", "puts@plt"}) {
        FunctionSymbol& function = code.symbols.functions.emplace_back();
        function.name = name;
        function.source = "/src/app.cpp";
        function.origin = NameOrigin::known;
    }
    code.symbols.functions[0].start = 0x1000;
    code.symbols.functions[2].start = 0x1005;
    code.symbols.functions[3].start = 0x4000;
    code.symbols.frames = {{0, 1, 10}, {1, 1, 3}, {0, 1, 11}, {2, 1, 20}, {3, 0, 0}};
    code.symbols.runs = {{0, 1}, {1, 2}, {3, 1}, {4, 1}};
    return code;
}

inline std::vector<SourceText> some_sources() {
    return {{"/src/app.cpp",
             SourceMatch::newer,
             {{1, {"int square(int x) {", "", "\treturn x * x;"}}, {10, {"for (;;) {", "}"}}}},
            {"/src/empty.cpp", SourceMatch::likely, {}}};
}

/// Everything in it, so that equal texts mean equal code.
inline std::string text_of(const ModuleCode& code) {
    std::string text = "machine " + std::to_string(code.machine) + "\n";
    for (const CodeBlock& block : code.blocks) {
        text += std::to_string(block.address) + ":";
        for (const std::byte byte : block.bytes) {
            text += " " + std::to_string(std::to_integer<int>(byte));
        }
        text += "\n";
    }
    for (std::size_t i = 0; i < code.places.size(); ++i) {
        text += std::to_string(code.places[i]) + " is";
        for (const SymbolFrame& frame : code.symbols.frames_of(i)) {
            text += " " + code.symbols.functions[frame.function].name + " in " +
                    code.symbols.files[frame.file] + ":" + std::to_string(frame.line);
        }
        text += "\n";
    }
    return text;
}

inline std::string text_of(const std::vector<SourceText>& sources) {
    std::string text;
    for (const SourceText& source : sources) {
        text += source.file + " " + std::to_string(static_cast<int>(source.match)) + "\n";
        for (const SourcePiece& piece : source.pieces) {
            text += "from " + std::to_string(piece.first_line) + "\n";
            for (const std::string& line : piece.lines) {
                text += line + "\n";
            }
        }
    }
    return text;
}

}  // namespace sample::trace
