#include "sampler/source/tasks.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

/// "TID/name" below `folder`.
std::string_view read_task_file(int folder, int tid, std::string_view name,
                                std::span<char> buffer) noexcept {
    ShortPath path{""};
    path << tid << "/" << name;
    return read_file(folder, path.c_str(), buffer);
}

/// From the file's start, where it is afterwards, too; empty if it cannot be read.
std::string_view read_again(long file, std::span<char> buffer) noexcept {
    const long bytes =
        raw_syscall(SYS_read, file, as_argument(buffer.data()), static_cast<long>(buffer.size()));
    raw_syscall(SYS_lseek, file, 0, 0);
    return bytes > 0 ? std::string_view{buffer.data(), static_cast<std::size_t>(bytes)}
                     : std::string_view{};
}

/// Of a stat file's text what stands behind the name, which may hold anything.
std::string_view behind_name(std::string_view text) noexcept {
    const std::size_t end = text.rfind(") ");
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    return text;
}

/// The word behind the last space; `text` then ends before it.
std::string_view take_last_word(std::string_view& text) noexcept {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) {
        text.remove_suffix(1);
    }
    const std::size_t space = text.rfind(' ');
    const std::size_t first = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view word{text.data() + first, text.size() - first};
    text = {text.data(), first};
    return word;
}

/// "0x…"; 0 for anything else.
std::uint64_t parse_hex(std::string_view word) noexcept {
    if (word.size() < 3 || word.size() > 18 || word[0] != '0' || word[1] != 'x') {
        return 0;
    }
    std::uint64_t value = 0;
    word.remove_prefix(2);
    for (const char digit : word) {
        const bool is_letter = digit >= 'a' && digit <= 'f';
        if (!is_letter && (digit < '0' || digit > '9')) {
            return 0;
        }
        value =
            value << 4U | static_cast<std::uint64_t>(is_letter ? digit - 'a' + 10 : digit - '0');
    }
    return value;
}

/// What stands behind "NAME:" in its line; empty if there is no such line.
std::string_view value_of(std::string_view text, std::string_view name) noexcept {
    while (!text.empty()) {
        std::string_view line = text;
        // Not substr(), which could throw.
        line.remove_suffix(text.size() - std::min(text.find('\n'), text.size()));
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            line.remove_prefix(name.size() + 1);
            return line;
        }
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return {};
}

std::uint64_t number_in(std::string_view text) noexcept {
    std::uint64_t value = 0;
    for (const char letter : text) {
        if (letter >= '0' && letter <= '9') {
            value = value * 10 + static_cast<std::uint64_t>(letter - '0');
        }
    }
    return value;
}

/// FNV-1a, continued.
std::uint64_t hash_on(std::uint64_t hash, std::string_view text) noexcept {
    for (const char letter : text) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    }
    return hash;
}

}  // namespace

ShortPath& ShortPath::operator<<(std::string_view word) noexcept {
    for (const char letter : word) {
        if (size_ + 1 < text_.size()) {
            text_[size_++] = letter;
        }
    }
    return *this;
}

ShortPath& ShortPath::operator<<(int number) noexcept {
    std::array<char, 10> digits{};
    std::size_t at = digits.size();
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return *this << std::string_view{&digits[at], digits.size() - at};
}

std::string_view read_file(int folder, const char* path, std::span<char> buffer) noexcept {
    const long fd = raw_syscall(SYS_openat, folder, as_argument(path), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return {};
    }
    const long bytes =
        raw_syscall(SYS_read, fd, as_argument(buffer.data()), static_cast<long>(buffer.size()));
    raw_syscall(SYS_close, fd);
    return bytes > 0 ? std::string_view{buffer.data(), static_cast<std::size_t>(bytes)}
                     : std::string_view{};
}

bool has_own_proc() noexcept {
    std::array<char, 16> text{};
    const long size = raw_syscall(SYS_readlink, as_argument("/proc/self"), as_argument(text.data()),
                                  static_cast<long>(text.size()));
    return size > 0 && number_in({text.data(), static_cast<std::size_t>(size)}) ==
                           static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
}

std::uint64_t second_number(std::string_view text) noexcept {
    const std::size_t space = text.find(' ');
    std::uint64_t value = 0;
    for (std::size_t at = space == std::string_view::npos ? text.size() : space + 1;
         at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    return value;
}

TaskState parse_task_state(std::string_view text) noexcept {
    if (text.starts_with("running")) {
        return {TaskState::Kind::awake, 0, 0};
    }
    const std::uint64_t pc = parse_hex(take_last_word(text));
    const std::uint64_t sp = parse_hex(take_last_word(text));
    if (pc == 0 || sp == 0) {
        return {};
    }
    return {TaskState::Kind::asleep, pc, sp};
}

TaskState task_state(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    return parse_task_state(read_task_file(folder, tid, "syscall", buffer));
}

ScheduleCounts parse_schedule_counts(std::string_view text) noexcept {
    const std::size_t first = std::min(text.find(' '), text.size());
    return {second_number(text), second_number(text.substr(std::min(first + 1, text.size())))};
}

ScheduleCounts schedule_counts(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    return parse_schedule_counts(read_task_file(folder, tid, "schedstat", buffer));
}

unsigned parse_processor(std::string_view text) noexcept {
    // Of the fields behind the name, which are words.
    constexpr int kProcessor = 36;
    constexpr int kPriority = 37;
    constexpr int kPolicy = 38;
    constexpr std::uint64_t kDeadline = 6;
    text = behind_name(text);
    std::array<std::uint64_t, kPolicy + 1> fields{};
    for (std::uint64_t& field : fields) {
        if (text.empty()) {
            return kNoProcessor;
        }
        std::string_view word = text;
        word.remove_suffix(text.size() - std::min(text.find(' '), text.size()));
        field = number_in(word);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return fields[kPriority] == 0 && fields[kPolicy] != kDeadline
               ? static_cast<unsigned>(fields[kProcessor])
               : kNoProcessor;
}

unsigned processor_of(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    return parse_processor(read_task_file(folder, tid, "stat", buffer));
}

std::uint64_t parse_ran_ns(std::string_view text) noexcept {
    const std::string_view name = "se.exec_start";
    const std::size_t start = text.find(name);
    if (start == std::string_view::npos) {
        return 0;
    }
    text.remove_prefix(start + name.size());
    text.remove_suffix(text.size() - std::min(text.find('\n'), text.size()));
    return number_in(text);  // of milliseconds, with six digits behind the point
}

long open_task_file(int folder, int tid, std::string_view name) noexcept {
    ShortPath path{""};
    path << tid << "/" << name;
    return raw_syscall(SYS_openat, folder, as_argument(path.c_str()), O_RDONLY | O_CLOEXEC);
}

std::uint64_t ran_ns_of(long sched) noexcept {
    std::array<char, 512> buffer{};
    return parse_ran_ns(read_again(sched, buffer));
}

ScheduleCounts schedule_counts(long schedstat) noexcept {
    std::array<char, 64> buffer{};
    return parse_schedule_counts(read_again(schedstat, buffer));
}

char state_letter(int folder, int tid) noexcept {
    std::array<char, 512> buffer{};
    const std::string_view text = behind_name(read_task_file(folder, tid, "stat", buffer));
    return text.empty() ? '\0' : text.front();
}

int open_tasks_of(int pid) noexcept {
    if (!has_own_proc()) {
        return -ENOENT;
    }
    ShortPath path{"/proc/"};
    path << pid << "/task";
    return open_folder(path.c_str());
}

bool process_has_ended(int pid) noexcept {
    if (raw_syscall(SYS_kill, pid, 0) == -ESRCH) {
        return true;
    }
    const int folder = open_tasks_of(pid);
    if (folder < 0) {
        return false;
    }
    const char state = state_letter(folder, pid);
    raw_syscall(SYS_close, folder);
    return state == 'Z' || state == 'X';
}

TaskRights parse_rights(std::string_view text) noexcept {
    TaskRights rights;
    const std::string_view state = value_of(text, "State");
    const std::string_view users = value_of(text, "Uid");
    rights.is_known =
        !users.empty() && state.find('Z') == state.npos && state.find('X') == state.npos;
    rights.ids = hash_on(hash_on(hash_on(0xcbf29ce484222325U, users), value_of(text, "Gid")),
                         value_of(text, "Groups"));
    rights.seccomp_mode = number_in(value_of(text, "Seccomp"));
    rights.filters = number_in(value_of(text, "Seccomp_filters"));
    return rights;
}

TaskRights rights_of(int folder, int tid) noexcept {
    // Supplementary groups beyond this room are many, and compared as far as they fit.
    std::array<char, std::size_t{8} * 1024> buffer;
    return parse_rights(read_task_file(folder, tid, "status", buffer));
}

bool drop_rights() noexcept {
    if (raw_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1) != 0) {
        return false;
    }
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    if (raw_syscall(SYS_capget, as_argument(&head), as_argument(sets.data())) == 0 &&
        std::all_of(sets.begin(), sets.end(), [](const __user_cap_data_struct& set) {
            return set.permitted == 0 && set.inheritable == 0;
        })) {
        return true;
    }
    sets = {};
    return raw_syscall(SYS_capset, as_argument(&head), as_argument(sets.data())) == 0;
}

}  // namespace sample::source
