#include "sampler/collector/code/module_file.h"

#include "core/fd.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/code/perf_map_place.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/tick_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sample::collector {
namespace {

/// Larger files are not copied: their process waits for us.
constexpr off_t kLargestCopied = off_t{32} << 20;
constexpr std::int64_t kOfLateNs = std::int64_t{86'400} * 1'000'000'000;

Fd open_in_root_of(pid_t pid, const std::string& path) {
    const Fd root{::open(living_path(pid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return root.is_open() ? open_regular(open_in(root, path.c_str(), O_PATH)) : Fd{};
}

using IsIt = std::function<bool(const Fd&)>;

bool is_build(const Fd& file, const trace::Module& module) {
    return file.is_open() &&
           read_build_id("/proc/self/fd/" + std::to_string(file.get())) == module.build_id;
}

/// Whether it is the very file of the mapping.
bool is_mapped(const Fd& file, const Mapping& mapping) {
    const auto is_same = [&](std::uint64_t device, std::uint64_t inode) {
        return device == mapping.device && inode == mapping.inode;
    };
    const FileIdentity identity = identity_of(file);
    if (!file.is_open() || is_same(identity.device, identity.inode)) {
        return file.is_open();
    }
    // Filesystems of layers or subvolumes give other numbers to stat() than to mappings: those of
    // a mapping of ours are like theirs.
    void* const own = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (own == MAP_FAILED) {
        return false;
    }
    const Mapping here = mapping_at(::getpid(), reinterpret_cast<std::uint64_t>(own));
    ::munmap(own, 1);
    return is_same(here.device, here.inode);
}

/// Whether the name leads elsewhere in each process, or each time.
bool is_relative(std::string_view name) {
    return !name.starts_with('/') || name.starts_with("/proc/") || name.starts_with("/dev/fd/");
}

/// Where such a name leads in that process by now.
std::string place_of(std::string_view name, pid_t pid) {
    if (!name.starts_with('/')) {
        return living_path(pid, "cwd/").append(name);
    }
    for (const std::string_view own : {"/proc/self/", "/proc/thread-self/", "/dev/"}) {
        if (name.starts_with(own)) {
            return living_path(pid, name.substr(own.size()));
        }
    }
    return std::string{name};
}

Fd open_named(const std::string& name, pid_t pid, const IsIt& is_it) {
    Fd file = is_relative(name) ? open_regular(place_of(name, pid)) : open_in_root_of(pid, name);
    if (!is_it(file) && !is_relative(name)) {
        file = open_regular(name);
    }
    return is_it(file) ? std::move(file) : Fd{};
}

/// The links of /proc are sure, but slow, or not to be had.
Fd open_mapped(const Mapping& mapping, pid_t pid, const IsIt& is_it) {
    Fd file = open_named(mapping.path, pid, is_it);
    if (!file.is_open()) {
        file = open_map_file(pid, mapping);
    }
    if (!is_it(file) && executable_of(pid) == mapping.path) {
        file = open_regular(living_path(pid, "exe"));
    }
    return is_it(file) ? std::move(file) : Fd{};
}

/// Empty: the kernel does not tell.
std::string path_of(const Fd& file) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(file.get());
    const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
    return {path.data(), static_cast<std::size_t>(std::max(size, ssize_t{0}))};
}

/// Whether a link's name is not that of the file that it led to.
bool is_renamed(const Fd& file, const std::string& name) {
    const std::string path = path_of(file);
    return !path.empty() && file_name(path) != file_name(name);
}

struct FoundFile {
    Fd file;
    std::string path;      ///< Of the module.
    bool is_lost = false;  ///< Nothing tells what ran from what lies there.
};

bool is_called(const Mapping& mapping, std::string_view name) {
    return mapping.path.starts_with('/') &&
           file_name(without_deleted(mapping.path)) == file_name(name);
}

/// Of a file that was found by its name.
std::string path_of_named(const Fd& file, const trace::Module& module, const Mapping& mapping) {
    if (!is_relative(without_deleted(module.path))) {
        return module.path;
    }
    if (mapping.path.starts_with('/') && is_mapped(file, mapping)) {
        return std::string{without_deleted(mapping.path)};
    }
    // By now another library may lie there, or none.
    std::string path = path_of(file);
    return path.empty() ? module.path : path;
}

/// Where no file is known to be what ran.
FoundFile find_none(const trace::Module& module, pid_t pid, const Mapping& mapping) {
    const std::string name{without_deleted(module.path)};
    const bool has_id = !module.build_id.empty();
    if (is_called(mapping, name)) {
        const std::string path{without_deleted(mapping.path)};
        return {{}, has_id ? path : mapping.path, !has_id};
    }
    if (has_id || is_relative(name)) {
        return {{}, module.path, !has_id};
    }
    Fd file = open_named(name, pid, [](const Fd& any) { return any.is_open(); });
    if (mapping.path.starts_with('/') && file.is_open() && is_renamed(file, name)) {
        return {{}, module.path, true};
    }
    return {std::move(file), module.path};
}

FoundFile find_file(const trace::Module& module, pid_t pid, std::uint64_t start) {
    const std::string name{without_deleted(module.path)};
    const bool has_id = !module.build_id.empty();
    const IsIt has_its_id = [&](const Fd& file) { return is_build(file, module); };
    if (has_id && !is_relative(name)) {
        if (Fd file = open_named(name, pid, has_its_id); file.is_open()) {
            return {std::move(file), module.path};
        }
    }
    const Mapping mapping = mapping_at(pid, start);
    const bool is_file = mapping.path.starts_with('/');
    const IsIt lies_there = [&](const Fd& file) { return is_file && is_mapped(file, mapping); };
    const IsIt& is_it = has_id ? has_its_id : lies_there;
    if (Fd file = open_named(name, pid, is_it); file.is_open()) {
        std::string path = path_of_named(file, module, mapping);
        return {std::move(file), std::move(path)};
    }
    // By now another library may lie there.
    if (is_file && (has_id || is_called(mapping, name))) {
        if (Fd file = open_mapped(mapping, pid, is_it); file.is_open()) {
            return {std::move(file), std::string{without_deleted(mapping.path)}};
        }
    }
    return find_none(module, pid, mapping);
}

bool leads_to(const std::string& path, const struct stat& file) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && info.st_dev == file.st_dev &&
           info.st_ino == file.st_ino;
}

}  // namespace

void know_module_file(Recorder& recorder, trace::Module& module, pid_t pid, std::uint64_t start) {
    const bool is_file = module.kind == trace::ModuleKind::elf;
    const bool is_looked_for =
        is_file && (module.build_id.empty() || is_relative(without_deleted(module.path)));
    FoundFile found;
    if (is_looked_for) {
        found = find_file(module, pid, start);
        module.path = found.path;
    }
    module.id =
        recorder.module(module, module.build_id.empty() ? identity_of(found.file) : FileIdentity{});
    if (found.is_lost) {
        recorder.lose_file(module.id);
    }
    if (!is_file || !recorder.wants_file(module.id)) {
        return;
    }
    if (!is_looked_for) {
        found = find_file(module, pid, start);
    }
    Fd& file = found.file;
    struct stat info {};
    struct stat root {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0 || ::stat("/", &root) != 0) {
        return;
    }
    const bool is_small = info.st_size <= kLargestCopied;
    const bool may_be_made_again =
        module.plugin && is_small &&
        identity_of(file).changed_ns + kOfLateNs > static_cast<std::int64_t>(realtime_ns());
    if (info.st_dev == root.st_dev && !may_be_made_again) {
        recorder.keep_file(module.id, std::move(file));
    } else if (is_small || !leads_to(module.path, info)) {
        recorder.keep_copy(module.id, file);
    }
}

}  // namespace sample::collector
