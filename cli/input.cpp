#include "cli/input.h"

#include "cli/output.h"
#include "cli/refuse.h"

#include <filesystem>
#include <system_error>

namespace sample::cli {

Result<std::string> named_or_newest(const std::string& named) {
    namespace fs = std::filesystem;
    if (!named.empty()) {
        return named;
    }
    std::string newest;
    fs::file_time_type latest;
    std::error_code error;
    fs::directory_iterator entries{".", error};
    for (; !error && entries != fs::directory_iterator{}; entries.increment(error)) {
        const std::string name = entries->path().filename();
        std::error_code gone;  // Files may go meanwhile.
        if (name.starts_with('.') || !name.ends_with(".utrace") ||
            !entries->is_regular_file(gone)) {
            continue;
        }
        const fs::file_time_type time = entries->last_write_time(gone);
        if (!gone && (newest.empty() || time > latest || (time == latest && name > newest))) {
            newest = name;
            latest = time;
        }
    }
    if (error) {
        return unexpected(
            Error{ErrorCode::system, error.value(), "cannot look for a recording in this folder"});
    }
    if (newest.empty()) {
        return refuse(ErrorCode::not_found,
                      "no recording in this folder: make one with sample -- COMMAND, or name a "
                      "file");
    }
    print_error("the newest recording here is " + newest);
    return newest;
}

}  // namespace sample::cli
