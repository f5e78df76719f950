// Room that ends: stands in for a full disk.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace sample::trace {

/// Lets files grow to `bytes` only, while alive: a write beyond is short, the next one EFBIG.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) : before_handler_{std::signal(SIGXFSZ, SIG_IGN)} {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limited{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limited);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    FileSizeLimit(FileSizeLimit&&) = delete;
    FileSizeLimit& operator=(FileSizeLimit&&) = delete;
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, before_handler_);
    }

private:
    rlimit before_{};
    void (*before_handler_)(int);
};

}  // namespace sample::trace
