// Turns addresses of a module into names: functions, source files, lines, inlined callers.
// docs/symbolization.md has the sources of names and their order.
//
// Works on the module's file, outside the program that was profiled, and never over a network.
#pragma once

#include "core/symbols.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

class KeptFiles;

enum class CodeKind : std::uint8_t {
    elf,     ///< Or the vDSO.
    jit,     ///< Made at run time: a perf map or a jitdump.
    kernel,  ///< The running kernel's.
};

struct ModuleIdentity {
    std::string path;                    ///< As the kernel names it; "[vdso]" is the kernel's own.
    std::vector<std::uint8_t> build_id;  ///< Of what ran; empty: not checked.
    /// The same file by other ways: through the process while it lives ("/proc/PID/root/usr/bin/x",
    /// "/proc/PID/map_files/…"), or a descriptor that holds it ("/proc/self/fd/N"). Of `path` and
    /// these the first with the right build-id is taken. Without a build-id they go before `path`,
    /// which may name another file here than where the program ran.
    std::vector<std::string> other_paths = {};
    CodeKind kind = CodeKind::elf;
};

struct ModuleSymbols {
    Symbols symbols;        ///< One run of at least one frame per address, in the addresses' order.
    std::string problem;    ///< One line for people: what is missing, and what to do; else empty.
    std::string file = {};  ///< Which of the module's paths was read; empty if none could be.
    /// Where its debug file was looked for, there or not.
    std::vector<std::string> debug_paths = {};
};

struct Options {
    /// Where separate debug files are installed, the first to be looked at first.
    std::vector<std::string> debug_roots = {"/usr/lib/debug"};
    /// Whether debuginfod's servers (DEBUGINFOD_URLS) are asked for what is not installed, and keep
    /// the caller waiting: by libdw, if it has libdebuginfod.
    bool asks_servers = false;
    /// Where compressed debug files are kept unpacked (elf/unpacked_file.h); nullptr: nowhere.
    KeptFiles* kept = nullptr;
};

/// Names `addresses`, ELF virtual addresses of `module` (for other kinds of code see
/// trace::ModuleKind), in any order, repeats allowed.
///
/// Never fails as a whole: what nothing names is "module+0xoffset", of origin none. A file that
/// is not the build that ran gives no names at all, and `problem` says so. Cost: the symbol table
/// and the units' root entries once, then only the units that an address lies in; all memory is
/// given back at the end. Thread-safe for distinct calls: modules can be named on several threads.
/// Not async-signal-safe.
[[nodiscard]] ModuleSymbols symbolize(const ModuleIdentity& module,
                                      std::span<const std::uint64_t> addresses,
                                      const Options& options = {});

/// The ELF virtual address of the first byte of `module` that is mapped: what addresses that count
/// from there lack. 0 if its file can't be read, as of nearly all that can.
[[nodiscard]] std::uint64_t first_address(const ModuleIdentity& module,
                                          const Options& options = {});

}  // namespace sample::symbolize
