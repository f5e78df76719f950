#include "analysis/advice.h"

#include "callgraph/label.h"
#include "core/fd.h"
#include "core/text.h"
#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

namespace sample::analysis {
namespace {

constexpr std::uint64_t kOneIn = 10;

/// By how much of the whole it is about.
using Weighed = std::multimap<std::uint64_t, std::string, std::greater<>>;

/// "/lib/libfoo.so.1" for that below /usr, too: where /lib is a link to /usr/lib, the loader has
/// the one name and Debian's lists the other, or the same.
std::string path_without_usr(const std::string& path) {
    return path.starts_with("/usr/") ? path.substr(4) : path;
}

/// "libfoo1" if that package of Debian's brought the file; empty: none did, or it is not known.
std::string package_of(const std::string& file, const std::string& dpkg_info) {
    const std::string path = path_without_usr(file);
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator{dpkg_info, problem}) {
        if (entry.path().extension() != ".list") {
            continue;
        }
        const std::string list = "\n" + read_small_file(entry.path());
        if (list.find("\n" + path + "\n") != std::string::npos ||
            list.find("\n/usr" + path + "\n") != std::string::npos) {
            const std::string name = entry.path().stem();
            return name.substr(0, name.find(':'));
        }
    }
    return {};
}

/// What brings the names of a file of code.
std::string names_of_file(const callgraph::CodeModule& module, const std::string& dpkg_info) {
    constexpr std::string_view kThen = "; then sample report --resymbolize";
    if (const std::string package = package_of(module.path, dpkg_info); !package.empty()) {
        // glibc's are in a package of the older kind.
        const bool is_libc = package == "libc6";
        return fmt::format("apt install {}{} has them{}{}", package, is_libc ? "-dbg" : "-dbgsym",
                           is_libc ? "" : " (from Debian's archive debian-debug)", kThen);
    }
    const std::string path = path_without_usr(module.path);
    if (path.starts_with("/lib/") || path.starts_with("/lib64/") || path.starts_with("/bin/")) {
        return "a debuginfod server may have them: sample report --debuginfod asks those of "
               "DEBUGINFOD_URLS";
    }
    return "no symbols of it were found: build it without -s, or name the folder of its debug "
           "files with --debug-dir";
}

/// One that makes code, and what has it name that.
struct Runtime {
    std::string_view program;  ///< What its file's name begins with.
    std::string_view library;  ///< Likewise; of one that may be in other programs, too.
    std::string_view command;
};

constexpr Runtime kRuntimes[] = {
    {"node", "libnode.so", "node --perf-basic-prof --interpreted-frames-native-stack"},
    {"java", "libjvm.so",
     "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"},
    {"beam.smp", {}, "erl +JPperf true"},
    {"mono", "libmono", "mono --jitmap"},
    {"php", {}, "php -d opcache.jit_debug=16"},
};
constexpr const Runtime& kJava = kRuntimes[1];

/// "php8.2" and "php-fpm" are php, and "node_exporter" is not node.
bool is_named(std::string_view file, std::string_view program) {
    return file.starts_with(program) &&
           (file.size() == program.size() ||
            std::string_view{"0123456789.-"}.find(file[program.size()]) != std::string_view::npos);
}

/// Which of those the recorded programs have; null: none that is known.
const Runtime* runtime_of(const callgraph::Profile& profile) {
    const auto* const found =
        std::find_if(std::begin(kRuntimes), std::end(kRuntimes), [&](const Runtime& runtime) {
            return std::any_of(profile.processes.begin(), profile.processes.end(),
                               [&](const auto& process) {
                                   return is_named(file_name(process.executable), runtime.program);
                               }) ||
                   (!runtime.library.empty() &&
                    std::any_of(profile.modules.begin(), profile.modules.end(),
                                [&](const auto& module) {
                                    return module.name.starts_with(runtime.library);
                                }));
        });
    return found == std::end(kRuntimes) ? nullptr : found;
}

/// What names the code that a program's runtime makes.
std::string names_of_jit(const callgraph::Profile& profile) {
    const Runtime* const runtime = runtime_of(profile);
    return runtime != nullptr ? fmt::format("{} names it", runtime->command)
                              : "an option of its runtime that writes /tmp/perf-PID.map names it, "
                                "if there is one";
}

/// Of named code, too: HotSpot uses the frame pointer for other things unless it is told not to.
void add_frame_pointers(Weighed& advice, const callgraph::Profile& profile, std::uint64_t whole) {
    constexpr std::string_view kFlag = "-XX:+PreserveFramePointer";
    const callgraph::Stats& stats = profile.stats;
    const std::uint64_t broken = stats.incomplete_stacks + stats.guessed_stacks;
    const bool is_said = std::any_of(advice.begin(), advice.end(), [&](const auto& line) {
        return line.second.find(kFlag) != std::string::npos;
    });
    const bool is_given = std::any_of(
        profile.processes.begin(), profile.processes.end(),
        [&](const auto& process) { return process.command_line.find(kFlag) != std::string::npos; });
    if (runtime_of(profile) == &kJava && !is_said && !is_given && broken != 0 &&
        broken >= stats.samples / kOneIn) {
        advice.emplace(whole, fmt::format("{} of the stacks lack callers, or guess them: java {} "
                                          "shows them",
                                          percent_text(broken, stats.samples), kFlag));
    }
}

/// Whether its file could not be had, which a note of its own begins with: what is in that file is
/// not known, and nothing that is built or installed brings it back.
bool is_unread(const callgraph::Profile& profile, const callgraph::CodeModule& module) {
    const std::string path{without_deleted(module.path)};
    return path != module.path ||
           std::any_of(profile.stats.notes.begin(), profile.stats.notes.end(),
                       [&](const std::string& note) { return note.starts_with(path + " "); });
}

void add_unnamed(Weighed& advice, const callgraph::Profile& profile, std::uint64_t whole,
                 const std::string& dpkg_info) {
    std::map<std::uint32_t, std::uint64_t> by_module;
    std::uint64_t jit = 0;
    for (const callgraph::Function& function : profile.functions) {
        const callgraph::CodeModule& module = profile.module_of(function);
        if (function.name == "[jit code]") {
            jit += function.self;
        } else if (!module.path.empty() && function.name.starts_with(module.name + "+0x")) {
            by_module[function.module] += function.self;
        }
    }
    const auto add = [&](std::uint64_t weight, std::string_view what, auto remedy) {
        if (weight != 0 && weight >= whole / kOneIn) {
            advice.emplace(weight, fmt::format("{} is in {} without names: {}",
                                               percent_text(weight, whole), what, remedy()));
        }
    };
    for (const auto& [index, weight] : by_module) {
        const callgraph::CodeModule& module = profile.modules[index];
        if (!is_unread(profile, module)) {
            add(weight, module.name, [&] { return names_of_file(module, dpkg_info); });
        }
    }
    add(jit, "code made at run time", [&] { return names_of_jit(profile); });
}

void add_python(Weighed& advice, const callgraph::Profile& profile, std::uint64_t whole) {
    std::uint64_t interpreted = 0;
    for (const callgraph::Function& function : profile.functions) {
        if (callgraph::is_named_by_a_runtime(function) && function.source.ends_with(".py")) {
            return;  // its own names
        }
        if (function.name.starts_with("_PyEval_EvalFrameDefault")) {
            interpreted = std::max(interpreted, function.total);
        }
    }
    if (interpreted != 0 && interpreted >= whole / kOneIn) {
        advice.emplace(
            interpreted,
            fmt::format("{} is in Python code: python3 -X perf (3.12 or newer) names its "
                        "functions",
                        percent_text(interpreted, whole)));
    }
}

void add_kernel(Weighed& advice, const callgraph::Profile& profile, std::uint64_t whole) {
    std::uint64_t unseen = 0;
    for (const callgraph::Function& function : profile.functions) {
        unseen += function.name == trace::kKernelUnseen ? function.self : 0;
    }
    if (unseen != 0 && unseen >= whole / kOneIn) {
        advice.emplace(
            unseen,
            fmt::format(
                "{} is in the kernel, called from where was not seen: {}",
                percent_text(unseen, whole),
                profile.stats.source == "sigtrap" || profile.stats.source == trace::kAttachSource
                    ? "sudo sysctl kernel.perf_event_paranoid=1 shows it"
                    : "source sigtrap can show it; sample doctor says what it needs"));
    }
}

}  // namespace

std::vector<std::string> advise(const callgraph::Profile& profile, const std::string& dpkg_info) {
    const std::uint64_t whole = profile.nodes.empty() ? 0 : profile.node(NodeId{0}).total;
    Weighed advice;
    if (whole != 0 && !profile.stats.source.empty()) {
        add_unnamed(advice, profile, whole, dpkg_info);
        add_frame_pointers(advice, profile, whole);
        add_python(advice, profile, whole);
        add_kernel(advice, profile, whole);
    }
    std::vector<std::string> lines;
    for (auto& [weight, line] : advice) {
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace sample::analysis
