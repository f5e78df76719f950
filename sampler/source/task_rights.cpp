#include "sampler/source/task_rights.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/source/task_state.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

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
