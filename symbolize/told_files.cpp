#include "symbolize/told_files.h"

#include "core/fd.h"
#include "core/jitdump.h"
#include "core/regular_file.h"
#include "symbolize/jitdump.h"
#include "symbolize/kernel_symbols.h"
#include "symbolize/perf_map.h"
#include "symbolize/symbols_builder.h"
#include "symbolize/told_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::uint64_t kKernelBits = std::uint64_t{3} << 62U;
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20U;

/// As the compiler told it, or already for people.
enum class NameForm : std::uint8_t { told, readable };

FunctionSymbol to_function(const ToldCode& told, const ToldCode::Function& function,
                           NameForm form) {
    ReadableName name;
    FunctionSymbol symbol;
    if (form == NameForm::told) {
        name = readable_name(function.name);
    } else {
        name.name = function.name;
        symbol.linkage_name = function.name;
    }
    symbol.name = name.name.empty() ? "(no name)" : name.name;
    symbol.source = name.source.empty() ? told.files[function.file] : name.source;
    symbol.line = name.line == 0 ? function.line : name.line;
    symbol.start = function.start;
    symbol.origin = NameOrigin::known;
    return symbol;
}

FunctionSymbol unnamed(std::string_view module, std::uint64_t address) {
    char offset[24] = {};
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(address));
    FunctionSymbol symbol;
    symbol.name = std::string{module} + offset;
    symbol.start = address;
    return symbol;
}

/// Of the names that were told, readable ones; "MODULE+0xaddress" for the rest.
Symbols to_symbols(const ToldCode& told, std::string_view module,
                   std::span<const std::uint64_t> addresses, NameForm form) {
    SymbolsBuilder builder;
    struct Known {
        std::uint32_t index = 0;
        std::string source;
    };
    std::vector<Known> known;
    for (const ToldCode::Function& function : told.functions) {
        FunctionSymbol symbol = to_function(told, function, form);
        std::string source = symbol.source;
        known.push_back({builder.function(std::move(symbol)), std::move(source)});
    }
    std::vector<FrameRun> runs;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        SymbolFrame frame;
        if (const auto& place = told.places[i]) {
            const Known& function = known[place->function];
            frame.function = function.index;
            if (place->line != 0) {
                frame.line = place->line;
                frame.file =
                    builder.file(place->file != 0 ? told.files[place->file] : function.source);
            }
        } else {
            frame.function = builder.function(unnamed(module, addresses[i]));
        }
        runs.push_back(builder.run({&frame, 1}));
    }
    Symbols symbols = builder.take();
    symbols.runs = std::move(runs);
    return symbols;
}

ToldCode nothing_told(std::span<const std::uint64_t> addresses) {
    ToldCode told;
    told.places.resize(addresses.size());
    return told;
}

std::string read_text(const Fd& file) {
    std::string text;
    constexpr std::size_t kStep = std::size_t{1} << 20U;
    std::size_t size = 0;
    ssize_t got = 0;
    do {
        text.resize(size + kStep);
        got = ::pread(file.get(), text.data() + size, kStep, static_cast<off_t>(size));
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
    } while (got > 0 && size < kMaxTextBytes);
    text.resize(size);
    return text;
}

/// A regular file of this user's or of root's; who opens a descriptor of his own knows whose it is.
Fd open_told(const std::string& path, bool is_own, std::string& problem) {
    Fd file = open_regular(path);
    struct stat info = {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) {
        problem = path +
                  " can't be read, so code made at run time that it would name has no names: have "
                  "the program write it (docs/symbolization.md says how), and record again";
        return Fd{};
    }
    if (!is_own && info.st_uid != 0 && info.st_uid != ::geteuid()) {
        problem = path +
                  " belongs to another user, so it is not believed, and code made at run time has "
                  "no names";
        return Fd{};
    }
    return file;
}

bool is_of(const jitdump::Header& header, const std::vector<std::uint8_t>& identity) {
    return identity.empty() || jitdump::identity_of(header) == identity;
}

bool is_too_large(const Fd& file) {
    struct stat info = {};
    return ::fstat(file.get(), &info) == 0 &&
           static_cast<std::uint64_t>(info.st_size) > kMaxTextBytes;
}

/// What the file at `path` says; nothing, and why, if it is not the right one.
std::optional<ToldCode> read_told(const ModuleFile& module, const std::string& path,
                                  std::span<const std::uint64_t> addresses, std::string& problem) {
    const Fd file = open_told(path, path != module.path, problem);
    if (!file.is_open()) {
        return std::nullopt;
    }
    const bool has_run_time_addresses = module.path.ends_with(".map");
    const auto dump = jitdump::Reader::open(file.get());
    if (!dump) {
        if (has_run_time_addresses) {
            if (is_too_large(file)) {
                problem =
                    module.path + " is larger than " + std::to_string(kMaxTextBytes >> 20U) +
                    " MiB: only its beginning was read for the names of code made at run time";
            }
            return read_perf_map(read_text(file), addresses);
        }
        problem = path + " does not name code made at run time: " + dump.error().message();
        return std::nullopt;
    }
    if (!is_of(dump->header(), module.build_id)) {
        problem =
            path + " was replaced since: record again, to see the names of code made at run time";
        return std::nullopt;
    }
    return read_jitdump(*dump, addresses,
                        has_run_time_addresses ? DumpAddresses::run_time : DumpAddresses::offsets);
}

}  // namespace

ModuleSymbols symbolize_jit(const ModuleFile& module, std::span<const std::uint64_t> addresses) {
    std::vector<std::string> paths = module.other_paths;
    paths.push_back(module.path);
    ModuleSymbols result;
    for (const std::string& path : paths) {
        result.problem.clear();
        if (const auto told = read_told(module, path, addresses, result.problem)) {
            result.symbols = to_symbols(*told, "[jit]", addresses, NameForm::told);
            return result;
        }
    }
    result.symbols = to_symbols(nothing_told(addresses), "[jit]", addresses, NameForm::told);
    return result;
}

ModuleSymbols symbolize_kernel(const ModuleFile& module, std::span<const std::uint64_t> addresses) {
    std::vector<std::uint64_t> whole(addresses.begin(), addresses.end());
    for (std::uint64_t& address : whole) {
        address |= kKernelBits;
    }
    ModuleSymbols result;
    KernelNames names;
    names.told = nothing_told(addresses);
    if (!module.build_id.empty() && module.build_id != boot_id()) {
        result.problem =
            "the kernel's functions have no names: the machine was booted since, and each boot "
            "puts the kernel elsewhere; record again";
    } else {
        const Fd file{::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC)};
        names = read_kallsyms(read_text(file), whole);
        if (names.is_closed || !file.is_open()) {
            result.problem =
                "the kernel's functions have no names, for /proc/kallsyms is closed to this user: "
                "run as root, or set the sysctl kernel.kptr_restrict to 0 and "
                "kernel.perf_event_paranoid to 1";
        }
    }
    result.symbols = to_symbols(names.told, "[kernel]", whole, NameForm::readable);
    return result;
}

}  // namespace sample::symbolize
