// Symbols of code that is in no ELF file: where its names are, and which are believed.
#include "core/boot_id.h"
#include "core/fd.h"
#include "core/regular_file.h"
#include "symbolize/runtime/runtime_code.h"
#include "symbolize/runtime/runtime_names.h"
#include "symbolize/symbols_builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace sample::symbolize {
namespace {

constexpr std::uint64_t kKernelBits = std::uint64_t{3} << 62U;
constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20U;

FunctionSymbol to_function(const RuntimeCode& code, const RuntimeCode::Function& function,
                           bool is_kernel) {
    // What the kernel calls a function is for people already.
    const ReadableName name =
        is_kernel ? ReadableName{function.name, {}, 0} : readable_name(function.name);
    FunctionSymbol symbol;
    symbol.linkage_name = is_kernel ? function.name : "";
    symbol.name = name.name.empty() ? "(no name)" : name.name;
    symbol.source = name.source.empty() ? code.files[function.file] : name.source;
    symbol.line = name.line == 0 ? function.line : name.line;
    symbol.start = function.start;
    symbol.origin = NameOrigin::known;
    return symbol;
}

/// All code made at run time that has no name is one function: its addresses say nothing.
FunctionSymbol nameless_jit() {
    FunctionSymbol symbol;
    symbol.name = "[jit code]";
    return symbol;
}

/// What has no name is nameless_jit(), or "[kernel]+0xaddress".
Symbols to_symbols(const RuntimeCode& code, std::span<const std::uint64_t> addresses,
                   bool is_kernel = false) {
    SymbolsBuilder builder;
    std::vector<std::pair<std::uint32_t, std::string>> known;  // with where it begins
    for (const RuntimeCode::Function& function : code.functions) {
        FunctionSymbol symbol = to_function(code, function, is_kernel);
        std::string source = symbol.source;
        known.emplace_back(builder.function(std::move(symbol)), std::move(source));
    }
    std::vector<FrameRun> runs;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        SymbolFrame frame;
        if (i < code.locations.size() && code.locations[i]) {
            const RuntimeCode::Location& location = *code.locations[i];
            const auto& [function, source] = known[location.function];
            frame.function = function;
            frame.line = location.line;
            if (frame.line != 0) {
                frame.file = builder.file(location.file != 0 ? code.files[location.file] : source);
            }
        } else {
            frame.function = builder.function(is_kernel ? unnamed_function("[kernel]", addresses[i])
                                                        : nameless_jit());
        }
        runs.push_back(builder.run({&frame, 1}));
    }
    return builder.take(std::move(runs));
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
    } while (got > 0 && size < kMaxFileBytes);
    text.resize(size);
    return text;
}

/// What the file at `path` says; nothing, and why, if it is not the right one.
std::optional<RuntimeCode> read_file(const ModuleIdentity& module, const std::string& path,
                                     std::span<const std::uint64_t> addresses,
                                     std::string& problem) {
    const Fd file = open_regular(path);
    struct stat info = {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) {
        problem = path +
                  " can't be read, so code made at run time has no names: have the program write "
                  "it (docs/symbolization.md says how), and record again";
        return std::nullopt;
    }
    // Who opens a descriptor of his own knows whose it is.
    if (path == module.path && info.st_uid != 0 && info.st_uid != ::geteuid()) {
        problem =
            path +
            " belongs to another user, so it is not trusted, and code made at run time has no "
            "names: look at the recording as that user";
        return std::nullopt;
    }
    const bool is_map = module.path.ends_with(".map");
    const auto dump = jitdump::Reader::open(file.get());
    if (!dump) {
        if (is_map) {
            if (static_cast<std::uint64_t>(info.st_size) > kMaxFileBytes) {
                problem =
                    module.path + " is larger than " + std::to_string(kMaxFileBytes >> 20U) +
                    " MiB: only its beginning was read for the names of code made at run time";
            }
            return read_perf_map(read_text(file), addresses);
        }
        problem = path + " does not name code made at run time: " + dump.error().message();
        return std::nullopt;
    }
    if (!module.build_id.empty() && jitdump::identity_of(dump->header()) != module.build_id) {
        problem =
            path + " was replaced since: record again, to see the names of code made at run time";
        return std::nullopt;
    }
    return read_jitdump(*dump, addresses,
                        is_map ? DumpAddresses::run_time : DumpAddresses::offsets);
}

}  // namespace

ModuleSymbols symbolize_jit(const ModuleIdentity& module,
                            std::span<const std::uint64_t> addresses) {
    std::vector<std::string> paths = module.other_paths;
    paths.push_back(module.path);
    ModuleSymbols result;
    std::optional<RuntimeCode> code;
    for (std::size_t i = 0; i < paths.size() && !code; ++i) {
        result.problem.clear();
        code = read_file(module, paths[i], addresses, result.problem);
    }
    result.symbols = to_symbols(code.value_or(RuntimeCode{}), addresses);
    return result;
}

ModuleSymbols symbolize_kernel(const ModuleIdentity& module,
                               std::span<const std::uint64_t> addresses) {
    std::vector<std::uint64_t> whole(addresses.begin(), addresses.end());
    for (std::uint64_t& address : whole) {
        address |= kKernelBits;
    }
    ModuleSymbols result;
    RuntimeCode code;
    if (!module.build_id.empty() && module.build_id != boot_id()) {
        result.problem =
            "the kernel's functions have no names: the machine was booted since, and each boot "
            "puts the kernel elsewhere; record again";
    } else {
        const Fd file{::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC)};
        code = read_kallsyms(read_text(file), whole);
        if (code.is_hidden || !file.is_open()) {
            result.problem =
                ::geteuid() == 0
                    ? "the kernel's functions have no names, for kernel.kptr_restrict hides its "
                      "addresses from root, too: sudo sysctl kernel.kptr_restrict=0"
                    : "the kernel's functions have no names, for /proc/kallsyms is closed to this "
                      "user: run as root, or set the sysctl kernel.kptr_restrict to 0 and "
                      "kernel.perf_event_paranoid to 1";
        }
    }
    result.symbols = to_symbols(code, whole, true);
    return result;
}

}  // namespace sample::symbolize
