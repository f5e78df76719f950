#include "cli/record/bystander.h"

#include "core/fd.h"
#include "sampler/collector/process/proc_files.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {
namespace {

/// Makes it forget what it has got. Not one that anybody sends to all.
int forget_signal() {
    return SIGRTMAX;
}

/// Where the command line of this process lies; nothing if that is not known.
/// Source: proc(5), /proc/PID/stat, arg_start and arg_end.
std::span<char> own_words() {
    constexpr std::size_t kStart = 45;  // behind the name
    const std::string stat = read_small_file("/proc/self/stat");
    std::istringstream rest{stat.substr(stat.rfind(')') + 1)};
    const std::vector<std::string> fields{std::istream_iterator<std::string>{rest}, {}};
    if (fields.size() <= kStart + 1) {
        return {};
    }
    const std::uint64_t start = std::strtoull(fields[kStart].c_str(), nullptr, 10);
    const std::uint64_t end = std::strtoull(fields[kStart + 1].c_str(), nullptr, 10);
    return start == 0 || end <= start
               ? std::span<char>{}
               : std::span{reinterpret_cast<char*>(start), static_cast<std::size_t>(end - start)};
}

bool is_pending(pid_t pid, int signal) {
    constexpr std::string_view kName = "\nShdPnd:";
    const std::string status = collector::status_of(pid);
    const std::size_t at = status.find(kName);
    return at != std::string::npos &&
           (std::strtoull(status.c_str() + at + kName.size(), nullptr, 16) >>
                static_cast<unsigned>(signal - 1) &
            1U) != 0;
}

/// In the child, where every signal is blocked. Async-signal-safe.
[[noreturn]] void stand_by(std::span<char> words, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "bystander");
    std::memset(words.data(), 0, words.size());
    // Who waits for the end of a pipe must not wait for this process.
    if (::getppid() != parent || ::close_range(0, ~0U, 0) != 0) {
        ::_exit(1);
    }
    sigset_t forget{};
    sigset_t all{};
    ::sigemptyset(&forget);
    ::sigaddset(&forget, forget_signal());
    ::sigfillset(&all);
    for (;;) {
        ::sigwaitinfo(&forget, nullptr);
        constexpr timespec kNone{};
        while (::sigtimedwait(&all, nullptr, &kNone) > 0) {
        }
    }
}

}  // namespace

Bystander::Bystander() {
    const std::span<char> words = own_words();
    if (words.empty()) {
        return;
    }
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        stand_by(words, parent);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    process_.reset(pid_ > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)) : -1);
}

Bystander::~Bystander() {
    // Its number may be another's by now, if somebody has ended it.
    if (process_.is_open()) {
        ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
        ::waitid(P_PIDFD, static_cast<id_t>(process_.get()), nullptr, WEXITED);
    }
}

bool Bystander::has_got(int signal) const {
    constexpr timespec kBetweenLooks{0, 5'000'000};
    constexpr int kMostLooks = 20;
    for (int look = 0; look < kMostLooks && process_.is_open(); ++look) {
        if (is_pending(pid_, signal)) {
            ::syscall(SYS_pidfd_send_signal, process_.get(), forget_signal(), nullptr, 0);
            return true;
        }
        ::nanosleep(&kBetweenLooks, nullptr);
    }
    return false;
}

}  // namespace sample::cli
