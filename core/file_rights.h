// Acting on files with another user's rights.
//
// Root's collector reads files that the profiled program names. It must not read for the program
// what the program's own user may not: what is read ends up in a recording, which is handed on.
// The kernel itself decides, folders on the way included: while an ActingAs lives, its thread opens
// files as that user. Only files: signals, /proc and perf events stay what they were.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sample {

/// Who a process is to file systems.
struct FileRights {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups = {};

    bool operator==(const FileRights&) const = default;
};

/// Those of the process whose status file says `status`; nothing if it doesn't tell. Source:
/// proc(5).
[[nodiscard]] std::optional<FileRights> file_rights_in(std::string_view status);

/// The same if we have more than it: only root has. nullptr: act as ourselves.
/// `last`: what to take of a process that is gone, whose status is empty.
[[nodiscard]] std::shared_ptr<const FileRights> lesser_rights_in(
    std::string_view status, std::shared_ptr<const FileRights> last);

/// While it lives this thread has these rights; nullptr changes nothing. Where they can't be taken
/// open_regular() opens nothing. Ends on its own thread, with none begun later still alive. Source:
/// setfsuid(2), setfsgid(2); capabilities(7), "Effect of user ID changes on capabilities".
class ActingAs {
public:
    explicit ActingAs(std::shared_ptr<const FileRights> rights);
    ~ActingAs();
    ActingAs(const ActingAs&) = delete;
    ActingAs& operator=(const ActingAs&) = delete;
    ActingAs(ActingAs&&) = delete;
    ActingAs& operator=(ActingAs&&) = delete;

    /// Whom this thread acts as; nullptr: nobody else.
    [[nodiscard]] static std::shared_ptr<const FileRights> current();
    /// False: an ActingAs of this thread could not take its rights.
    [[nodiscard]] static bool may_open_files() noexcept;

private:
    std::optional<FileRights> before_;
    std::shared_ptr<const FileRights> current_before_;
    bool could_open_before_;
};

}  // namespace sample
