#include "symbolize/namer.h"

#include "symbolize/demangle.h"

#include <cstdio>
#include <optional>
#include <span>
#include <utility>

namespace sample::symbolize {
namespace {

std::string base_name(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name.empty() ? "[no name]" : name;
}

/// Without what compilers add to the names of parts and copies: "foo" of "foo.part.0".
std::string_view without_clone(std::string_view name) {
    return name.substr(0, name.find('.', 1));
}

}  // namespace

FunctionSymbol unnamed_function(const std::string& module_path, std::uint64_t address) {
    char offset[24] = {};
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(address));
    FunctionSymbol function;
    function.name = base_name(module_path) + offset;
    function.start = address;
    return function;
}

Namer::Namer(const ModuleImage& image, const std::string& path, const DebugSource& debug)
    : image_{image},
      module_path_{path},
      extents_{image.unwind_path()},
      table_{image.module()},
      debug_{debug.dwarf, debug.bias, *debug.split} {}

FrameRun Namer::name(std::uint64_t address) {
    frames_.clear();
    SourcePlace place = debug_.place(address);
    for (const InlinedFrame& inlined : debug_.inlined(address)) {
        frames_.push_back({inlined_function(inlined.callee), file(place), place.line});
        place = inlined.call;
    }
    frames_.push_back({outer_function(address), file(place), place.line});
    return symbols_.run(frames_);
}

std::uint32_t Namer::outer_function(std::uint64_t address) {
    const std::span<const ElfSymbol> aliases = table_.find(address);
    const DebugFunction* const function = debug_.function(address);
    if (aliases.empty() && function == nullptr) {
        return stub_or_unnamed(address);
    }
    const Key key{aliases.data(), function != nullptr ? function->die.addr : nullptr,
                  function == nullptr && is_guess(aliases, address)};
    const auto [place, is_new] = functions_.try_emplace(key);
    if (is_new) {
        FunctionSymbol described = describe(aliases, function);
        described.origin = key.guessed ? NameOrigin::guessed : NameOrigin::known;
        place->second = described.name.empty() ? stub_or_unnamed(address)
                                               : symbols_.function(std::move(described));
    }
    return place->second;
}

/// A symbol without a size reaches so far only if the unwind tables say it, or nothing else can.
bool Namer::is_guess(std::span<const ElfSymbol> aliases, std::uint64_t address) {
    const ElfSymbol& symbol = aliases.front();
    return !symbol.sized && !symbol.alone && symbol.start != address &&
           extents_.start_of(address) != symbol.start;
}

FunctionSymbol Namer::describe(std::span<const ElfSymbol> aliases, const DebugFunction* function) {
    FunctionSymbol result;
    // A symbol without a size is a guess, if a good one: what DWARF says goes first.
    if (function != nullptr && (aliases.empty() || !aliases.front().sized)) {
        set_name(result, function->die);
        result.start = function->start;
    }
    if (result.name.empty() && !aliases.empty()) {
        const std::string_view hint =
            function != nullptr ? linkage_name_of(function->die) : std::string_view{};
        result.linkage_name = best_alias(aliases, hint);
        result.name = demangle(result.linkage_name);
        result.start = aliases.front().start;
    }
    set_declaration(result, function != nullptr ? declaration_of(function->die) : SourcePlace{});
    return result;
}

std::uint32_t Namer::inlined_function(const Dwarf_Die& callee) {
    const auto [place, is_new] = functions_.try_emplace({nullptr, callee.addr});
    if (is_new) {
        place->second = symbols_.function(describe_inlined(callee));
    }
    return place->second;
}

FunctionSymbol Namer::describe_inlined(const Dwarf_Die& callee) {
    FunctionSymbol result;
    const std::string_view symbol =
        linkage_name_of(callee).empty() ? symbol_of_copy(callee) : std::string_view{};
    if (symbol.empty()) {
        set_name(result, callee);
    } else {
        result.linkage_name = symbol;
        result.name = demangle(symbol);
    }
    if (result.name.empty()) {
        result.name = "[inlined]";
    }
    result.origin = NameOrigin::known;
    const SourcePlace place = declaration_of(callee);
    result.source = place.path();
    result.line = place.line;
    return result;
}

/// The name of the function that is also there for itself, or in part; empty if none is.
std::string_view Namer::symbol_of_copy(const Dwarf_Die& callee) const {
    for (const std::uint64_t start : debug_.copies(callee)) {
        const std::span<const ElfSymbol> aliases = table_.find(start);
        if (!aliases.empty() && aliases.front().sized && aliases.front().start == start) {
            return without_clone(best_alias(aliases, {}));
        }
    }
    return {};
}

void Namer::set_name(FunctionSymbol& function, const Dwarf_Die& entry) {
    function.linkage_name = linkage_name_of(entry);
    if (!function.linkage_name.empty()) {
        function.name = demangle(function.linkage_name);
        return;
    }
    function.name = names_.function(entry);
    if (function.name == plain_name_of(entry)) {
        function.linkage_name = function.name;
    }
}

void Namer::set_declaration(FunctionSymbol& function, SourcePlace place) {
    if (place.line == 0 || place.file.empty()) {
        place = debug_.place(function.start);  // Assembly, and what the compiler made up.
    }
    if (place.line != 0) {
        function.source = place.path();
        function.line = place.line;
    }
}

std::uint32_t Namer::stub_or_unnamed(std::uint64_t address) {
    if (!plt_) {
        plt_ = std::make_unique<PltTable>(image_.elf());
    }
    FunctionSymbol function;
    if (const auto stub = plt_->find(address)) {
        function.name = demangle(stub->target) + "@plt";
        function.linkage_name = stub->target + "@plt";
        function.start = stub->start;
        function.origin = NameOrigin::known;
    } else {
        function = unnamed_function(module_path_, extents_.start_of(address).value_or(address));
    }
    return symbols_.function(std::move(function));
}

std::uint32_t Namer::file(const SourcePlace& place) {
    if (place.file.empty()) {
        return 0;
    }
    const auto [known, is_new] = files_.try_emplace(place.file.data());
    if (is_new) {
        known->second = symbols_.file(place.path());
    }
    return known->second;
}

}  // namespace sample::symbolize
