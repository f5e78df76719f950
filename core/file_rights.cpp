#include "core/file_rights.h"

#include "core/fd.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace sample {
namespace {

constexpr int kAsk = -1;  // No such id: the call changes nothing and says what it is.

thread_local bool t_may_open = true;
thread_local std::shared_ptr<const FileRights> t_current;

/// The numbers of one line of /proc/PID/status.
std::vector<gid_t> numbers_of(std::string_view status, std::string_view name) {
    std::vector<gid_t> numbers;
    const std::size_t at = status.find(name);
    if (at == std::string_view::npos) {
        return numbers;
    }
    std::string_view line = status.substr(at + name.size());
    line = line.substr(0, line.find('\n'));
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of("\t "), line.size()));
        gid_t number = 0;
        const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), number);
        if (error != std::errc{}) {
            return numbers;
        }
        numbers.push_back(number);
        line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
    }
}

std::string status_of(pid_t pid) {
    const Fd file{
        ::open(("/proc/" + std::to_string(pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> part{};
    ssize_t got = 0;
    while (file.is_open() && (got = ::read(file.get(), part.data(), part.size())) > 0) {
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
}

std::vector<gid_t> own_groups() {
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    groups.resize(static_cast<std::size_t>(
        std::max(::getgroups(static_cast<int>(groups.size()), groups.data()), 0)));
    std::sort(groups.begin(), groups.end());
    return groups;
}

FileRights own_rights() {
    return {static_cast<uid_t>(::setfsuid(static_cast<uid_t>(kAsk))),
            static_cast<gid_t>(::setfsgid(static_cast<gid_t>(kAsk))), own_groups()};
}

/// Of this thread alone, as libc's setgroups(2) would not. The user comes last on the way down and
/// first on the way up, for only root may change the others.
bool take(const FileRights& rights) {
    const bool is_taken = ::syscall(SYS_setgroups, rights.groups.size(), rights.groups.data()) == 0;
    ::setfsgid(rights.group);
    ::setfsuid(rights.user);
    return is_taken && own_rights() == rights;
}

}  // namespace

std::optional<FileRights> file_rights_of(pid_t pid) {
    constexpr std::size_t kOfFiles = 3;  // Behind the real, the effective and the saved one.
    const std::string status = status_of(pid);
    const auto users = numbers_of(status, "\nUid:");
    const auto groups = numbers_of(status, "\nGid:");
    if (users.size() <= kOfFiles || groups.size() <= kOfFiles) {
        return std::nullopt;
    }
    FileRights rights{users[kOfFiles], groups[kOfFiles], numbers_of(status, "\nGroups:")};
    std::sort(rights.groups.begin(), rights.groups.end());
    return rights;
}

std::shared_ptr<const FileRights> lesser_rights_of(pid_t pid,
                                                   std::shared_ptr<const FileRights> last) {
    if (::geteuid() != 0) {
        return nullptr;
    }
    auto rights = file_rights_of(pid);
    if (!rights) {
        return last;
    }
    if (rights->user == 0) {
        return nullptr;
    }
    return last != nullptr && *last == *rights
               ? last
               : std::make_shared<const FileRights>(std::move(*rights));
}

ActingAs::ActingAs(std::shared_ptr<const FileRights> rights)
    : current_before_{t_current}, could_open_before_{t_may_open} {
    if (rights != nullptr) {
        before_ = own_rights();
        t_may_open = take(*rights) && could_open_before_;
        t_current = std::move(rights);
    }
}

ActingAs::~ActingAs() {
    if (before_) {
        static_cast<void>(take(*before_));
        t_may_open = could_open_before_;
        t_current = std::move(current_before_);
    }
}

std::shared_ptr<const FileRights> ActingAs::current() {
    return t_current;
}

bool ActingAs::may_open_files() noexcept {
    return t_may_open;
}

}  // namespace sample
