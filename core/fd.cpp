#include "core/fd.h"

#include <unistd.h>

namespace sample {

void Fd::reset(int fd) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) {
        ::close(old);
    }
}

}  // namespace sample
