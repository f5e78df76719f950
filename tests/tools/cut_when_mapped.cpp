// Preloaded: cuts a file off right when the program has mapped it for the nth time, so that nothing
// of it was touched yet.
//
//   CUT_FILE   the file
//   CUT_NTH    from 1
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

bool is_file(int fd, const char* path) {
    struct stat mapped = {};
    struct stat wanted = {};
    return ::fstat(fd, &mapped) == 0 && ::stat(path, &wanted) == 0 &&
           mapped.st_dev == wanted.st_dev && mapped.st_ino == wanted.st_ino;
}

void cut(int fd) {
    static std::atomic<int> count{0};
    const char* const path = std::getenv("CUT_FILE");
    const char* const nth = std::getenv("CUT_NTH");
    if (path != nullptr && nth != nullptr && is_file(fd, path) && ++count == std::atoi(nth) &&
        ::truncate(path, 0) != 0) {
        std::abort();
    }
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): those of libc are reserved.
extern "C" void* mmap(void* address, size_t size, int protection, int flags, int fd,
                      off_t offset) noexcept {
    void* const mapped =
        reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, protection, flags, fd, offset));
    if (mapped != MAP_FAILED && (flags & MAP_ANONYMOUS) == 0) {
        cut(fd);
    }
    return mapped;
}

extern "C" void* mmap64(void* address, size_t size, int protection, int flags, int fd,
                        off64_t offset) noexcept __attribute__((alias("mmap")));
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
