#include "core/file_rights.h"

#include "core/fd.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sample {
namespace {

constexpr int kAsk = -1;  // No such id: the call changes nothing and says what it is.

thread_local bool t_may_open = true;
thread_local std::shared_ptr<const FileRights> t_rights;

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

std::optional<FileRights> file_rights_in(std::string_view status) {
    constexpr std::size_t kOfFiles = 3;  // Behind the real, the effective and the saved one.
    const std::vector<uid_t> users = numbers_of_line(status, "Uid:");
    const std::vector<gid_t> groups = numbers_of_line(status, "Gid:");
    if (users.size() <= kOfFiles || groups.size() <= kOfFiles) {
        return std::nullopt;
    }
    FileRights rights{users[kOfFiles], groups[kOfFiles], numbers_of_line(status, "Groups:")};
    std::sort(rights.groups.begin(), rights.groups.end());
    return rights;
}

std::shared_ptr<const FileRights> lesser_rights_in(std::string_view status,
                                                   std::shared_ptr<const FileRights> last) {
    if (::geteuid() != 0) {
        return nullptr;
    }
    auto rights = file_rights_in(status);
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
    : current_before_{t_rights}, could_open_before_{t_may_open} {
    if (rights != nullptr) {
        before_ = own_rights();
        t_may_open = take(*rights) && could_open_before_;
        t_rights = std::move(rights);
    }
}

ActingAs::~ActingAs() {
    if (before_) {
        static_cast<void>(take(*before_));
        t_may_open = could_open_before_;
        t_rights = std::move(current_before_);
    }
}

std::shared_ptr<const FileRights> ActingAs::current() {
    return t_rights;
}

bool ActingAs::may_open_files() noexcept {
    return t_may_open;
}

}  // namespace sample
