#include "callgraph/function_table.h"

#include "core/text.h"
#include "core/units.h"

#include <array>
#include <charconv>
#include <functional>

namespace sample::callgraph {

std::string shown_name(const FunctionSymbol& symbol, std::string_view module) {
    const std::size_t offset = symbol.name.rfind("+0x");
    if (symbol.origin == NameOrigin::none && offset != std::string::npos) {
        return std::string{module}.append(symbol.name, offset);
    }
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
    nameless_.reserve(count);
    for (std::uint32_t address = 0; address < count; ++address) {
        add_place(address);
    }
}

void FunctionTable::add_place(std::uint32_t address) {
    const CodeAddress& place = recording_.addresses()[address];
    const trace::Module* module = recording_.module_of(place);
    std::uint32_t& nameless = nameless_.emplace_back(kNoCode);
    if (module == nullptr || module->kind == trace::ModuleKind::pseudo) {
        Code code;
        code.name = module == nullptr ? trace::kUnknownCode : std::string_view{module->path};
        nameless = codes_.intern(code);
        return;
    }
    const std::uint32_t flags = (module->kind == trace::ModuleKind::jit ? kNative : kNoFlags) |
                                (module->plugin ? kPlugin : kNoFlags);
    const std::uint32_t file = module_index(place.module, *module);
    const std::span<const SymbolFrame> frames = symbols_.frames_of(address);
    if (frames.empty()) {
        Code code;
        code.module = file;
        code.name = offset_name(place, file);
        code.flags = flags;
        nameless = codes_.intern(code);
    }
    for (const SymbolFrame& frame : frames) {
        if (code_of_function_[frame.function] == kNoCode) {
            add_code(frame.function, file, flags);
        }
    }
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
        added.name = is_jit ? path : recording_.name_of_file(path);
        added.path = is_jit ? std::string_view{} : path;
        added.build_id = is_jit ? std::string{} : to_hex(module.build_id);
    }
    return known = found->second;
}

void FunctionTable::add_code(std::uint32_t function, std::uint32_t module, std::uint32_t flags) {
    const FunctionSymbol& symbol = symbols_.functions[function];
    Code code;
    code.name = symbol.origin == NameOrigin::known
                    ? std::string_view{symbol.name}
                    : made_names_.emplace_back(shown_name(symbol, modules_[module].name));
    code.source = symbol.source;
    code.linkage_name = symbol.linkage_name;
    code.module = module;
    code.line = symbol.line;
    code.flags = flags;
    code.is_memory_entry =
        symbol.origin != NameOrigin::none && is_memory_management(symbol.linkage_name, symbol.name);
    code_of_function_[function] = codes_.intern(code);
    Code& known = codes_[code_of_function_[function]];
    known.is_memory_entry = known.is_memory_entry || code.is_memory_entry;
    known.flags |= flags;
    if (known.line == 0 || (code.line != 0 && code.line < known.line)) {
        known.line = code.line;
    }
}

std::uint32_t FunctionTable::code(FrameIndex at) const {
    const std::uint32_t nameless = nameless_[at.address];
    return nameless != kNoCode
               ? nameless
               : code_of_function_[symbols_.frames_of(at.address)[at.frame].function];
}

std::uint32_t FunctionTable::line(FrameIndex at) const {
    if (nameless_[at.address] != kNoCode) {
        return 0;
    }
    const SymbolFrame& frame = symbols_.frames_of(at.address)[at.frame];
    const bool is_elsewhere =
        frame.file != 0 && symbols_.files[frame.file] != symbols_.functions[frame.function].source;
    return is_elsewhere ? 0 : frame.line;
}

std::string_view FunctionTable::offset_name(const CodeAddress& place, std::uint32_t module) {
    std::array<char, kHexadecimal> digits{};
    const char* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), place.address, kHexadecimal)
            .ptr;
    std::string& name = made_names_.emplace_back(modules_[module].name);
    return name.append("+0x").append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

FunctionId FunctionTable::memory() {
    if (memory_.is_none()) {
        Code code;
        code.name = kMemoryName;
        memory_ = FunctionId{codes_.intern(code) + 1};
    }
    return memory_;
}

FunctionId FunctionTable::zone(std::uint32_t index) {
    const ZoneNode& zone = recording_.labels().zones[index];
    Code code;
    code.name = made_names_.emplace_back("zone " + zone.name);
    code.source = zone.source;
    code.line = zone.line;
    code.flags = kZone;
    return FunctionId{codes_.intern(code) + 1};
}

std::vector<Function> FunctionTable::functions() const {
    std::vector<Function> functions;
    functions.reserve(codes_.size());
    for (const Code& code : codes_.entries()) {
        Function& function = functions.emplace_back();
        function.name = code.name;
        function.module = code.module;
        function.linkage_name = code.linkage_name;
        function.source = code.source.empty() ? modules_[code.module].name : code.source;
        function.line = code.line;
        function.flags = code.flags;
    }
    return functions;
}

}  // namespace sample::callgraph
