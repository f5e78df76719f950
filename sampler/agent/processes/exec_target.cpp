#include "sampler/agent/processes/exec_target.h"

#include "core/sanitizer_runtime.h"
#include "sampler/agent/processes/child_environment.h"
#include "sampler/agent/session/local_socket.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/tasks.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using control::NotProfiled;

constexpr std::uint64_t kMostNs = 1'000'000'000;
constexpr int kMaxInterpreters = 4;            // of scripts, as many as the kernel's
constexpr std::size_t kScriptHeadBytes = 256;  // what the kernel reads of a script

/// A file's first bytes, and the others on demand.
class Head {
public:
    explicit Head(int fd) noexcept : fd_{fd} {
        const long got = raw_syscall(SYS_pread64, fd, as_argument(bytes_.data()),
                                     static_cast<long>(bytes_.size()), 0);
        size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    }

    [[nodiscard]] std::string_view text() const noexcept { return {bytes_.data(), size_}; }

    template <class T>
    [[nodiscard]] std::optional<T> read(std::uint64_t offset) const noexcept {
        T value{};
        if (offset <= size_ && sizeof value <= size_ - offset) {
            memcpy(&value, bytes_.data() + offset, sizeof value);
            return value;
        }
        const std::size_t got = read(offset, std::as_writable_bytes(std::span{&value, 1}));
        return got == sizeof value ? std::optional{value} : std::nullopt;
    }
    /// How many bytes of them the file has there, and could be read.
    [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const noexcept {
        const long got = raw_syscall(SYS_pread64, fd_, as_argument(out.data()),
                                     static_cast<long>(out.size()), static_cast<long>(offset));
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }

private:
    int fd_;
    std::array<char, 1024> bytes_{};
    std::size_t size_ = 0;
};

/// The first word behind "#!", or nothing. Source: execve(2), Interpreter scripts.
std::string_view interpreter_of_script(std::string_view text) noexcept {
    constexpr std::string_view kBlanks = " \t";
    if (!text.starts_with("#!")) {
        return {};
    }
    text.remove_suffix(text.size() - std::min(text.find('\n'), text.size()));
    text.remove_prefix(2);
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) {
        return {};
    }
    text.remove_prefix(start);
    return text.substr(0, text.find_first_of(kBlanks));
}

/// Where the file has what is loaded at `address`; 0: nowhere.
std::uint64_t offset_of(const Head& file, const Elf64_Ehdr& head, std::uint64_t address) noexcept {
    for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
        const auto header = file.read<Elf64_Phdr>(head.e_phoff + i * sizeof(Elf64_Phdr));
        if (header && header->p_type == PT_LOAD && address >= header->p_vaddr &&
            address - header->p_vaddr < header->p_filesz) {
            return address - header->p_vaddr + header->p_offset;
        }
    }
    return 0;
}

using DynamicText = std::array<char, 64>;

/// The text of the first entry of that tag; empty: there is none, or it is longer.
DynamicText dynamic_text(const Head& file, Elf64_Sxword tag) noexcept {
    const auto head = file.read<Elf64_Ehdr>(0);
    std::optional<Elf64_Phdr> dynamic;
    for (std::uint64_t i = 0; head && i < head->e_phnum && !dynamic; ++i) {
        dynamic = file.read<Elf64_Phdr>(head->e_phoff + i * sizeof(Elf64_Phdr));
        dynamic = dynamic && dynamic->p_type == PT_DYNAMIC ? dynamic : std::nullopt;
    }
    if (!dynamic) {
        return {};
    }
    std::uint64_t strings = 0;
    std::optional<std::uint64_t> name;
    std::array<Elf64_Dyn, 64> entries{};
    const std::size_t got =
        file.read(dynamic->p_offset, std::as_writable_bytes(std::span{entries}));
    for (const Elf64_Dyn& entry : std::span{entries}.first(got / sizeof(Elf64_Dyn))) {
        if (entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_STRTAB) {
            strings = offset_of(file, *head, entry.d_un.d_ptr);
        } else if (entry.d_tag == tag && !name) {
            name = entry.d_un.d_val;
        }
    }
    DynamicText text{};
    if (strings != 0 && name) {
        const std::size_t bytes =
            file.read(strings + *name, std::as_writable_bytes(std::span{text}));
        if (bytes == 0 || strnlen(text.data(), text.size()) == text.size()) {
            text = {};
        }
    }
    return text;
}

/// The library that the file needs first, if that is a sanitizer's runtime. Such a one complains,
/// or fails, where another library comes before it. Compilers name it first.
void find_runtime(const Head& file, std::array<char, 64>& out) noexcept {
    const DynamicText library = dynamic_text(file, DT_NEEDED);
    if (is_sanitizer_runtime(library.data())) {
        out = library;
    }
}

NotProfiled reason_of_elf(const Head& file, std::string_view path) noexcept {
    const auto head = file.read<Elf64_Ehdr>(0);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) {
        return NotProfiled::none;
    }
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64) {
        return NotProfiled::other_machine;
    }
    for (std::uint64_t i = 0; i < head->e_phnum; ++i) {
        const auto header = file.read<Elf64_Phdr>(head->e_phoff + i * sizeof(Elf64_Phdr));
        if (!header) {
            return NotProfiled::none;
        }
        if (header->p_type == PT_INTERP) {
            const auto name = file.read<std::array<char, 12>>(header->p_offset);
            return name && std::string_view{name->data(), name->size()} == "/lib/ld-musl"
                       ? NotProfiled::musl
                       : NotProfiled::none;
        }
    }
    if (path.find("/valgrind/") != path.npos) {
        return NotProfiled::valgrind;
    }
    // The loader runs the program that it is told of.
    const DynamicText name = dynamic_text(file, DT_SONAME);
    return std::string_view{name.data()}.starts_with("ld-linux") ? NotProfiled::none
                                                                 : NotProfiled::static_program;
}

/// Whether the loader of such a file would run in secure mode. Source: ld.so(8), AT_SECURE.
NotProfiled reason_of_rights(int fd, const struct stat& info) noexcept {
    struct statfs mount = {};
    if (fd >= 0 && raw_syscall(SYS_fstatfs, fd, as_argument(&mount)) == 0 &&
        (mount.f_flags & ST_NOSUID) != 0) {
        return NotProfiled::none;
    }
    if (((info.st_mode & S_ISUID) != 0 && info.st_uid != ::getuid()) ||
        ((info.st_mode & S_ISGID) != 0 && info.st_gid != ::getgid())) {
        return NotProfiled::privileged;
    }
    if (fd >= 0 && ::getuid() != 0 &&
        raw_syscall(SYS_fgetxattr, fd, as_argument("security.capability"), 0, 0) > 0) {
        return NotProfiled::capabilities;
    }
    return NotProfiled::none;
}

void inspect(int fd, const struct stat& info, control::Unprofiled& out) noexcept {
    out.device = info.st_dev;
    out.inode = info.st_ino;
    out.reason = reason_of_rights(fd, info);
}

source::ShortPath link_of(int fd) noexcept {
    return source::ShortPath{"/proc/thread-self/fd/"} << fd;
}

bool is_regular(int fd, struct stat& info) noexcept {
    return fd >= 0 && raw_syscall(SYS_fstat, fd, as_argument(&info)) == 0 && S_ISREG(info.st_mode);
}

bool is_same(const struct stat& left, const struct stat& right) noexcept {
    return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

/// As core/regular_file.h: nothing but a regular file is ever opened, for a device acts when it is.
/// False: it is none. `fd` -1: it may not be read.
bool open_regular(int folder, const char* path, int& fd, struct stat& info) noexcept {
    constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    const auto place =
        static_cast<int>(raw_syscall(SYS_openat, folder, as_argument(path), O_PATH | O_CLOEXEC, 0));
    const bool is_file = is_regular(place, info);
    fd = -1;
    if (is_file) {
        fd = static_cast<int>(
            raw_syscall(SYS_openat, AT_FDCWD, as_argument(link_of(place).c_str()), kHow, 0));
        if (fd == -ENOENT) {  // No /proc here, as in a small chroot.
            struct stat again = {};
            fd = static_cast<int>(raw_syscall(SYS_openat, folder, as_argument(path), kHow, 0));
            if (fd >= 0 && !(is_regular(fd, again) && is_same(info, again))) {
                close_descriptor(fd);
                fd = -1;
            }
        }
    }
    close_descriptor(place);
    return is_file;
}

/// One file; true: `script` has the interpreter to go on with.
bool inspect_one(int folder, const char* path, ExecTarget& target,
                 char (&script)[kScriptHeadBytes]) noexcept {
    control::Unprofiled& out = target.program;
    struct stat info = {};
    int fd = -1;
    if (!open_regular(folder, path, fd, info)) {
        return false;
    }
    inspect(fd, info, out);
    bool again = false;
    if (fd >= 0 && out.reason == NotProfiled::none) {
        const Head head{fd};
        const std::string_view interpreter = interpreter_of_script(head.text());
        if (!interpreter.empty() && interpreter.size() < sizeof script) {
            memcpy(script, interpreter.data(), interpreter.size());
            script[interpreter.size()] = '\0';
            again = true;
        } else {
            out.reason = reason_of_elf(head, path);
            find_runtime(head, target.runtime);
        }
    }
    close_descriptor(fd);
    return again;
}

}  // namespace

ExecTarget inspect_program(int folder, const char* path) noexcept {
    ExecTarget out;
    if (path == nullptr) {
        return out;
    }
    strncpy(out.program.path.data(), path, out.program.path.size() - 1);
    source::with_own_descriptors([&]() noexcept {
        char script[kScriptHeadBytes];
        bool again = inspect_one(folder, path, out, script);
        for (int depth = 0; again && depth < kMaxInterpreters; ++depth) {
            char next[kScriptHeadBytes];
            memcpy(next, script, sizeof next);
            again = inspect_one(AT_FDCWD, next, out, script);
        }
        out.may_read_library = library_may_be_read();
    });
    return out;
}

ExecTarget inspect_descriptor(int fd) noexcept {
    ExecTarget target;
    control::Unprofiled& out = target.program;
    struct stat info = {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        inspect(fd, info, out);
        if (out.reason == NotProfiled::none) {
            const Head head{fd};
            out.reason = reason_of_elf(head, {});
            find_runtime(head, target.runtime);
        }
        raw_syscall(SYS_readlink, as_argument(link_of(fd).c_str()), as_argument(out.path.data()),
                    static_cast<long>(out.path.size() - 1));
        source::with_own_descriptors(
            [&]() noexcept { target.may_read_library = library_may_be_read(); });
    }
    return target;
}

bool search_path(const char* file, char (&path)[kMaxPathBytes]) noexcept {
    const std::size_t length = file == nullptr ? 0 : strlen(file);
    if (length == 0 || length >= sizeof path) {
        return false;
    }
    if (strchr(file, '/') != nullptr) {
        memcpy(path, file, length + 1);
        return true;
    }
    const char* variable = getenv("PATH");
    std::string_view folders{variable == nullptr ? "/bin:/usr/bin" : variable};
    for (bool is_last = false; !is_last;) {
        const std::size_t end = folders.find(':');
        const std::string_view folder = folders.substr(0, end);
        is_last = end == std::string_view::npos;
        folders.remove_prefix(is_last ? folders.size() : end + 1);
        if (folder.size() + length + 2 > sizeof path) {
            continue;
        }
        std::size_t at = folder.size();
        memcpy(path, folder.data(), at);
        if (at != 0) {
            path[at++] = '/';
        }
        memcpy(path + at, file, length + 1);
        struct stat info = {};
        if (raw_syscall(SYS_access, as_argument(path), X_OK) == 0 &&
            raw_syscall(SYS_newfstatat, AT_FDCWD, as_argument(path), as_argument(&info), 0) == 0 &&
            S_ISREG(info.st_mode)) {
            return true;
        }
    }
    return false;
}

void announce(control::Unprofiled& program, int pid) noexcept {
    if (program.reason != NotProfiled::none) {
        program.pid = static_cast<std::uint32_t>(pid != 0 ? pid : ::getpid());
        program.sender_pid = static_cast<std::uint32_t>(::getpid());
        program.parent_pid =
            pid != 0 ? program.sender_pid : static_cast<std::uint32_t>(::getppid());
        tell_collector(program, kMostNs, AfterTelling::go_on);
    }
}

void take_back(control::Unprofiled& program) noexcept {
    if (program.reason != NotProfiled::none) {
        program.reason = NotProfiled::none;
        tell_collector(program, kMostNs, AfterTelling::go_on);
    }
}

}  // namespace sample::agent
