#include "callgraph/function_table.h"

#include "callgraph/gc_functions.h"
#include "core/text.h"

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
    return hash_pair(kHash(code.name), hash_pair(kHash(code.source), code.module));
}

bool FunctionTable::CodeTraits::equal(const Code& left, const Code& right) {
    return left.name == right.name && left.source == right.source && left.module == right.module;
}

FunctionTable::FunctionTable(const Recording& recording, const Symbols& symbols)
    : recording_{recording},
      symbols_{symbols},
      code_of_function_(symbols.functions.size(), kNoCode),
      module_of_id_(recording.modules().size() + 1) {
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
    const std::uint32_t file = module_index(place.module, *module);
    const std::span<const SymbolFrame> frames = symbols_.frames_of(address);
    if (frames.empty()) {
        Code code;
        code.module = file;
        code.name = offset_name(place, file);
        added.code = codes_.intern(code);
    }
    for (const SymbolFrame& frame : frames) {
        if (code_of_function_[frame.function] == kNoCode) {
            add_code(frame.function, file);
        }
    }
    places_.push_back(added);
}

std::uint32_t FunctionTable::module_index(ModuleId id, const trace::Module& module) {
    std::uint32_t& known = module_of_id_[id.value];
    if (known != 0) {
        return known;
    }
    const bool is_jit = module.kind == trace::ModuleKind::jit;
    const std::string_view path = is_jit ? std::string_view{trace::kJitCode} : module.path;
    const auto [found, is_new] =
        module_of_path_.try_emplace(path, static_cast<std::uint32_t>(modules_.size()));
    if (is_new) {
        CodeModule& added = modules_.emplace_back();
        added.name = file_name(path);
        added.path = is_jit ? std::string_view{} : path;
        added.build_id = is_jit ? std::string{} : to_hex(module.build_id);
    }
    return known = found->second;
}

void FunctionTable::add_code(std::uint32_t function, std::uint32_t module) {
    const FunctionSymbol& symbol = symbols_.functions[function];
    Code code;
    code.name = symbol.origin == NameOrigin::guessed ? made_names_.emplace_back(shown_name(symbol))
                                                     : std::string_view{symbol.name};
    code.source = symbol.source;
    code.linkage_name = symbol.linkage_name;
    code.module = module;
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
    if (places_[at.address].code != kNoCode) {
        return 0;
    }
    const SymbolFrame& frame = symbols_.frames_of(at.address)[at.frame];
    const bool is_elsewhere =
        frame.file != 0 && symbols_.files[frame.file] != symbols_.functions[frame.function].source;
    return is_elsewhere ? 0 : frame.line;
}

std::string_view FunctionTable::offset_name(const CodeAddress& place, std::uint32_t module) {
    constexpr int kHexadecimal = 16;
    std::array<char, kHexadecimal> digits{};
    const char* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), place.address, kHexadecimal)
            .ptr;
    std::string& name = made_names_.emplace_back(modules_[module].name);
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
        function.module = code.module;
        function.linkage_name = code.linkage_name;
        function.source = code.source.empty() ? modules_[code.module].name : code.source;
        function.line = code.line;
        function.flags = flagged.flags;
    }
    return functions;
}

}  // namespace sample::callgraph
