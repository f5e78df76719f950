#include "core/mapped_reading.h"

#include "core/units.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <string_view>

namespace sample {
namespace {

/// How many live, and what SIGBUS did before the first. The handler reads it while one lives.
struct Installed {
    std::mutex mutex;
    unsigned readings = 0;
    struct sigaction before = {};
};
Installed g_installed;

/// The innermost of this thread.
thread_local MappedReading* t_reading = nullptr;

/// As if there were no handler of ours. Async-signal-safe.
void pass_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction& before = g_installed.before;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, info, context);
        return;
    }
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
        return;
    }
    // Sent by somebody, not by an access: si_code tells (sigaction(2)).
    const bool is_sent = info->si_code <= 0;
    if (is_sent && before.sa_handler == SIG_IGN) {
        return;
    }
    // The access is made again, and kills; what was sent is sent again, for when we have returned.
    ::sigaction(signal, &before, nullptr);
    if (is_sent) {
        ::raise(signal);
    }
}

/// Behind five words: range, permissions, offset, device, inode.
std::string_view name_in(std::string_view line) noexcept {
    for (int word = 0; word < 5; ++word) {
        line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    }
    return line;
}

/// "7f12-7f34 r--p 00001000 fe:01 1234    /usr/lib/x.so"
bool is_line_of(std::uintptr_t address, std::string_view line, FoundMapping& found,
                std::span<char> name) noexcept {
    constexpr std::ptrdiff_t kPrivateMark = 4;  // " r--p"
    const char* const line_end = line.data() + line.size();
    FoundMapping mapping;
    const char* at = std::from_chars(line.data(), line_end, mapping.start, kHexadecimal).ptr;
    at += at != line_end ? 1 : 0;
    at = std::from_chars(at, line_end, mapping.end, kHexadecimal).ptr;
    if (address < mapping.start || address >= mapping.end) {
        return false;
    }
    mapping.is_private = line_end - at > kPrivateMark && at[kPrivateMark] == 'p';
    found = mapping;
    if (!name.empty()) {
        const std::string_view file = name_in(line).substr(0, name.size() - 1);
        *std::copy(file.begin(), file.end(), name.begin()) = '\0';
    }
    return true;
}

}  // namespace

MappedReading::MappedReading() : outer_{t_reading} {
    {
        const std::lock_guard lock{g_installed.mutex};
        if (g_installed.readings++ == 0) {
            struct sigaction ours = {};
            ours.sa_sigaction = on_fault;
            ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
            ::sigemptyset(&ours.sa_mask);
            ::sigaction(SIGBUS, &ours, &g_installed.before);
        }
    }
    // A fault while it is blocked kills.
    sigset_t only;
    ::sigemptyset(&only);
    ::sigaddset(&only, SIGBUS);
    ::pthread_sigmask(SIG_UNBLOCK, &only, &mask_before_);
    t_reading = this;
}

MappedReading::~MappedReading() {
    t_reading = outer_;
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    const std::lock_guard lock{g_installed.mutex};
    if (--g_installed.readings == 0) {
        ::sigaction(SIGBUS, &g_installed.before, nullptr);
    }
}

Error MappedReading::broken(const std::string& path) {
    return {ErrorCode::truncated, 0,
            path + " was cut off while it was read: read it again once it is whole"};
}

void MappedReading::on_fault(int signal, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    // BUS_ADRERR: the file has nothing there, or the disk or server does not give it.
    const bool is_survived = t_reading != nullptr && info->si_code == BUS_ADRERR &&
                             t_reading->replace_rest_of_mapping(info->si_addr);
    if (!is_survived) {
        pass_on(signal, info, context);
    }
    errno = saved_errno;
}

/// Async-signal-safe.
bool MappedReading::replace_rest_of_mapping(void* touched) noexcept {
    const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(touched) & ~(page_bytes - 1);
    FoundMapping found{page, page + page_bytes};  // Where /proc is not mounted: page by page.
    if (find_mapping(page, found, broken_ ? std::span<char>{} : std::span{file_}) &&
        !found.is_private) {
        return false;
    }
    broken_ = true;
    void* const at = reinterpret_cast<void*>(page);
    return ::mmap(at, found.end - page, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

bool find_mapping(std::uintptr_t address, FoundMapping& found, std::span<char> name) noexcept {
    const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char chunk[4096];
    char line[512];  // Of a longer one the rest is left out: only the file's name is that long.
    std::size_t length = 0;
    bool is_found = false;
    while (!is_found) {
        const ssize_t got = ::read(fd, chunk, sizeof chunk);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            break;
        }
        for (ssize_t i = 0; i < got && !is_found; ++i) {
            if (chunk[i] == '\n') {
                is_found = is_line_of(address, {line, length}, found, name);
                length = 0;
            } else if (length < sizeof line) {
                line[length++] = chunk[i];
            }
        }
    }
    ::close(fd);
    return is_found;
}

}  // namespace sample
