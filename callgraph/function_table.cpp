#include "callgraph/function_table.h"

#include "callgraph/gc_functions.h"

#include <array>
#include <charconv>
#include <functional>

namespace sample::callgraph {

namespace {

constexpr std::string_view kGcName = "GC";

}  // namespace

std::uint64_t FunctionTable::CodeTraits::hash(const Code& code) {
    constexpr std::hash<std::string_view> kHash;
    return hash_pair(kHash(code.name), hash_pair(kHash(code.source), kHash(code.module_path)));
}

bool FunctionTable::CodeTraits::equal(const Code& left, const Code& right) {
    return left.name == right.name && left.source == right.source &&
           left.module_path == right.module_path;
}

FunctionTable::FunctionTable(const Recording& recording, const SymbolTable& symbols)
    : recording_{recording} {
    const auto addresses = recording.addresses();
    places_.reserve(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        add_place(addresses[i], i < symbols.size() ? &symbols[i] : nullptr);
    }
}

void FunctionTable::add_place(const CodeAddress& place, const Symbol* symbol) {
    const trace::Module* module = recording_.module_of(place);
    Code code;
    Place added;
    if (module == nullptr) {
        code.name = trace::kUnknownCode;
    } else if (module->kind == trace::ModuleKind::pseudo) {
        code.name = module->path;
    } else {
        code.module_path = module->path;
        if (symbol != nullptr && !symbol->name.empty()) {
            code.name = symbol->name;
            code.source = symbol->source;
            code.line = symbol->line;
            code.is_gc_entry =
                symbol->found && is_memory_management(symbol->linkage_name, symbol->name);
        } else {
            code.name = offset_name(place, module->path);
        }
        added.flags = (module->kind == trace::ModuleKind::jit ? kNative : kNoFlags) |
                      (module->plugin ? kPlugin : kNoFlags);
    }
    added.code = codes_.intern(code);
    Code& known = codes_[added.code];
    known.is_gc_entry = known.is_gc_entry || code.is_gc_entry;
    if (known.line == 0 || (code.line != 0 && code.line < known.line)) {
        known.line = code.line;
    }
    places_.push_back(added);
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

FunctionId FunctionTable::function(std::uint32_t address, std::uint32_t inherited) {
    const Place& place = places_[address];
    return FunctionId{flagged_.intern({place.code, place.flags | inherited}) + 1};
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
