#include "callgraph/function_table.h"

#include "callgraph/gc_functions.h"

#include <array>
#include <charconv>
#include <functional>

namespace sample::callgraph {

namespace {

constexpr std::string_view kGcName = "GC";

}  // namespace

std::string shown_name(const FunctionSymbol& symbol) {
    return symbol.origin == NameOrigin::guessed ? symbol.name + std::string{kGuessMark}
                                                : symbol.name;
}

std::uint64_t FunctionTable::CodeTraits::hash(const Code& code) {
    constexpr std::hash<std::string_view> kHash;
    return hash_pair(kHash(code.name), hash_pair(kHash(code.source), kHash(code.module_path)));
}

bool FunctionTable::CodeTraits::equal(const Code& left, const Code& right) {
    return left.name == right.name && left.source == right.source &&
           left.module_path == right.module_path;
}

FunctionTable::FunctionTable(const Recording& recording, const Symbols& symbols)
    : recording_{recording},
      symbols_{symbols},
      code_of_function_(symbols.functions.size(), kNoCode) {
    const auto count = static_cast<std::uint32_t>(recording.addresses().size());
    places_.reserve(count);
    for (std::uint32_t address = 0; address < count; ++address) {
        add_place(address);
    }
}

void FunctionTable::add_place(std::uint32_t address) {
    const CodeAddress& place = recording_.addresses()[address];
    const trace::Module* module = recording_.module_of(place);
    Place added;
    if (module == nullptr || module->kind == trace::ModuleKind::pseudo) {
        Code code;
        code.name = module == nullptr ? trace::kUnknownCode : std::string_view{module->path};
        added.code = codes_.intern(code);
        places_.push_back(added);
        return;
    }
    added.flags = (module->kind == trace::ModuleKind::jit ? kNative : kNoFlags) |
                  (module->plugin ? kPlugin : kNoFlags);
    const std::string_view path = module->kind == trace::ModuleKind::jit
                                      ? std::string_view{trace::kJitCode}
                                      : std::string_view{module->path};
    const std::span<const SymbolFrame> frames = symbols_.frames_of(address);
    if (frames.empty()) {
        Code code;
        code.module_path = path;
        code.name = offset_name(place, path);
        added.code = codes_.intern(code);
    }
    for (const SymbolFrame& frame : frames) {
        if (code_of_function_[frame.function] == kNoCode) {
            add_code(frame.function, path);
        }
    }
    places_.push_back(added);
}

void FunctionTable::add_code(std::uint32_t function, std::string_view module_path) {
    const FunctionSymbol& symbol = symbols_.functions[function];
    Code code;
    code.name = symbol.origin == NameOrigin::guessed ? made_names_.emplace_back(shown_name(symbol))
                                                     : std::string_view{symbol.name};
    code.source = symbol.source;
    code.module_path = module_path;
    code.line = symbol.line;
    code.is_gc_entry =
        symbol.origin != NameOrigin::none && is_memory_management(symbol.linkage_name, symbol.name);
    code_of_function_[function] = codes_.intern(code);
    Code& known = codes_[code_of_function_[function]];
    known.is_gc_entry = known.is_gc_entry || code.is_gc_entry;
    if (known.line == 0 || (code.line != 0 && code.line < known.line)) {
        known.line = code.line;
    }
}

std::uint32_t FunctionTable::code(FrameIndex at) const {
    const Place& place = places_[at.address];
    return place.code != kNoCode
               ? place.code
               : code_of_function_[symbols_.frames_of(at.address)[at.frame].function];
}

std::uint32_t FunctionTable::line(FrameIndex at) const {
    return places_[at.address].code != kNoCode ? 0 : symbols_.frames_of(at.address)[at.frame].line;
}

std::string_view FunctionTable::offset_name(const CodeAddress& place, std::string_view path) {
    constexpr int kHexadecimal = 16;
    std::array<char, kHexadecimal> digits{};
    const char* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), place.address, kHexadecimal)
            .ptr;
    std::string& name = made_names_.emplace_back(file_name(path));
    return name.append("+0x").append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

FunctionId FunctionTable::function(FrameIndex at, std::uint32_t inherited) {
    return FunctionId{flagged_.intern({code(at), places_[at.address].flags | inherited}) + 1};
}

FunctionId FunctionTable::gc() {
    if (gc_.is_none()) {
        Code code;
        code.name = kGcName;
        gc_ = FunctionId{flagged_.intern({codes_.intern(code), kNoFlags}) + 1};
    }
    return gc_;
}

std::vector<Function> FunctionTable::functions() const {
    std::vector<Function> functions;
    functions.reserve(flagged_.size());
    for (const Flagged& flagged : flagged_.entries()) {
        const Code& code = codes_[flagged.code];
        Function& function = functions.emplace_back();
        function.name = code.name;
        function.module = file_name(code.module_path);
        function.source = code.source.empty() ? function.module : std::string{code.source};
        function.line = code.line;
        function.flags = flagged.flags;
    }
    return functions;
}

}  // namespace sample::callgraph
