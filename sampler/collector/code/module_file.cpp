#include "sampler/collector/code/module_file.h"

#include "core/regular_file.h"
#include "core/text.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/code/perf_map_place.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/tick_clock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace sample::collector {
namespace {

/// Larger files are not copied: their process waits for us.
constexpr off_t kLargestCopied = off_t{32} << 20;
constexpr std::int64_t kOfLateNs = std::int64_t{86'400} * 1'000'000'000;

Fd open_in_root_of(pid_t pid, const std::string& path) {
    const Fd root{::open(living_path(pid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return root.is_open() ? open_regular(open_in(root, path.c_str(), O_PATH)) : Fd{};
}

/// What is mapped at `start` under one of the names, which may lie deeper as we see it, if the
/// process has another root. By now another library may lie there.
Fd open_mapping(pid_t pid, std::uint64_t start, const std::array<std::string, 2>& names) {
    for (const Mapping& mapping : mappings_of(pid)) {
        if (mapping.start <= start && start < mapping.end &&
            (mapping.path.ends_with(names[0]) || mapping.path.ends_with(names[1]))) {
            return open_map_file(pid, mapping);
        }
    }
    return Fd{};
}

Fd open_executable(const trace::Module& module, pid_t pid) {
    const std::string executable = executable_of(pid);
    const bool is_it = executable == module.path ||
                       executable == std::string{without_deleted(module.path)}.append(kDeleted);
    return is_it ? open_regular(living_path(pid, "exe")) : Fd{};
}

bool is_build(const Fd& file, const trace::Module& module) {
    return file.is_open() &&
           read_build_id("/proc/self/fd/" + std::to_string(file.get())) == module.build_id;
}

bool leads_to(const std::string& path, const struct stat& file) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && info.st_dev == file.st_dev &&
           info.st_ino == file.st_ino;
}

}  // namespace

Fd open_module_file(const trace::Module& module, pid_t pid, std::uint64_t start) {
    using Way = std::function<Fd()>;
    const std::string name{without_deleted(module.path)};
    const Way in_root = [&] { return open_in_root_of(pid, name); };
    const Way here = [&] { return open_regular(name); };
    const Way mapped = [&] {
        return open_mapping(pid, start, {name, name + std::string{kDeleted}});
    };
    const Way executed = [&] { return open_executable(module, pid); };
    const bool has_id = !module.build_id.empty();
    // The links of /proc are sure, but slow, or not to be had.
    const std::array<const Way*, 4> ways = has_id ? std::array{&in_root, &here, &mapped, &executed}
                                                  : std::array{&mapped, &executed, &in_root, &here};
    for (const Way* way : ways) {
        Fd file = (*way)();
        if (has_id ? is_build(file, module) : file.is_open()) {
            return file;
        }
    }
    return Fd{};
}

void know_module_file(Recorder& recorder, trace::Module& module, pid_t pid, std::uint64_t start) {
    const bool is_file = module.kind == trace::ModuleKind::elf;
    Fd file;
    if (is_file && module.build_id.empty()) {
        file = open_module_file(module, pid, start);
    }
    const FileIdentity identity = identity_of(file);
    module.id = recorder.module(module, identity);
    if (!is_file || !recorder.wants_file(module.id)) {
        return;
    }
    if (!file.is_open()) {
        file = open_module_file(module, pid, start);
    }
    struct stat info {};
    struct stat root {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0 || ::stat("/", &root) != 0) {
        return;
    }
    if (module.plugin && info.st_size <= kLargestCopied &&
        identity_of(file).changed_ns + kOfLateNs > static_cast<std::int64_t>(realtime_ns())) {
        recorder.keep_copy(module.id, file);
    } else if (info.st_dev == root.st_dev) {
        recorder.keep_file(module.id, std::move(file));
    } else if (info.st_size <= kLargestCopied || !leads_to(module.path, info)) {
        recorder.keep_copy(module.id, file);
    }
}

}  // namespace sample::collector
