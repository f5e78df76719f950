#include "sampler/collector/process/shared_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace sample::collector {
namespace {

std::mutex g_raising;

/// While it lives, no file is too large, as far as that is ours to say: without privilege up to the
/// hard limit.
class RaisedFileSize {
public:
    RaisedFileSize() : lock_{g_raising} {
        if (::getrlimit(RLIMIT_FSIZE, &before_) != 0 || before_.rlim_cur == RLIM_INFINITY) {
            return;
        }
        const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
        const rlimit hard{before_.rlim_max, before_.rlim_max};
        raised_ = ::setrlimit(RLIMIT_FSIZE, &none) == 0 || ::setrlimit(RLIMIT_FSIZE, &hard) == 0;
    }
    RaisedFileSize(const RaisedFileSize&) = delete;
    RaisedFileSize& operator=(const RaisedFileSize&) = delete;
    RaisedFileSize(RaisedFileSize&&) = delete;
    RaisedFileSize& operator=(RaisedFileSize&&) = delete;
    ~RaisedFileSize() {
        if (raised_) {
            const int saved = errno;
            ::setrlimit(RLIMIT_FSIZE, &before_);
            errno = saved;
        }
    }

private:
    std::lock_guard<std::mutex> lock_;
    rlimit before_{};
    bool raised_ = false;
};

}  // namespace

Fd make_shared_memory(const char* name, std::uint64_t bytes) {
    Fd fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    const RaisedFileSize raised;
    if (fd.is_open() && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
        return {};
    }
    return fd;
}

}  // namespace sample::collector
