#include "core/result.h"

#include <cerrno>
#include <system_error>

namespace sample {

std::string Error::message() const {
    if (errno_value == 0) {
        return context;
    }
    return context + ": " + std::generic_category().message(errno_value);
}

Error Error::from_errno(std::string context) {
    const int saved = errno;
    return Error{ErrorCode::system, saved, std::move(context)};
}

}  // namespace sample
