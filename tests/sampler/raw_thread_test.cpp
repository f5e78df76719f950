// Threads that libc does not know, in the test program itself. What runs in them may use raw system
// calls and atomics only: they have no thread-local storage of their own.
#include "sampler/source/raw_thread.h"

#include "core/fd.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/tasks.h"
#include "tests/sampler/child_process.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kStackBytes = 64 * std::size_t{1024};
constexpr int kStatus = 5;

/// What a thread of the tests tells and is told.
struct Talk {
    std::atomic<int> tid{0};
    std::atomic<std::uint64_t> stack{0};  ///< An address on it.
    std::atomic<std::uint64_t> blocked{0};
    std::array<std::atomic<int>, 3> opened{};
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    std::atomic<int> lives{0};  ///< Its id, by the kernel.

    void await_beginning() const {
        while (!begun.load()) {
            std::this_thread::yield();
        }
    }
};

int run(void* argument) noexcept {
    auto& talk = *static_cast<Talk*>(argument);
    talk.tid.store(static_cast<int>(raw_syscall(SYS_gettid)));
    talk.stack.store(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
    std::uint64_t blocked = 0;
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, as_argument(&blocked), 8);
    talk.blocked.store(blocked);
    for (auto& fd : talk.opened) {
        fd.store(static_cast<int>(raw_syscall(SYS_open, as_argument("/dev/null"), O_RDONLY)));
    }
    talk.begun.store(true);
    while (!talk.over.load()) {
        raw_syscall(SYS_sched_yield);
    }
    return kStatus;
}

/// "rw-p" and the like of the mapping that holds `address`, and its first byte; empty if nothing
/// is mapped there.
std::pair<std::string, std::uint64_t> mapping_at(std::uint64_t address) {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        char dash = 0;
        std::string rights;
        words >> std::hex >> low >> dash >> high >> rights;
        if (address >= low && address < high) {
            return {rights, low};
        }
    }
    return {};
}

class RawThread : public ::testing::Test {
protected:
    ~RawThread() override { end(); }
    void start() {
        started = start_raw_thread(run, &talk, kStackBytes, talk.lives);
        ASSERT_GT(started, 0);
        talk.await_beginning();
    }
    void end() {
        talk.over.store(true);
        while (talk.lives.load() != 0) {
            std::this_thread::yield();
        }
    }

    Talk talk;
    int started = 0;
};

TEST_F(RawThread, runs_as_a_thread_of_this_process) {
    start();
    EXPECT_EQ(talk.tid.load(), started);
    EXPECT_NE(started, ::gettid());
    bool listed = false;
    const Fd folder{open_task_folder()};
    for_each_number(folder.get(), [&](int tid) {
        listed = listed || tid == started;
        return true;
    });
    EXPECT_TRUE(listed);
}

TEST_F(RawThread, has_a_stack_with_a_guard_that_goes_with_it) {
    start();
    const std::uint64_t address = talk.stack.load();
    const auto [rights, low] = mapping_at(address);
    EXPECT_EQ(rights, "rw-p");
    EXPECT_LT(address - low, kStackBytes);
    EXPECT_EQ(mapping_at(low - 1).first, "---p");
    end();
    EXPECT_EQ(mapping_at(address).first, "");
    EXPECT_EQ(mapping_at(low - 1).first, "");
}

TEST_F(RawThread, has_every_signal_blocked) {
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
    start();
    const auto bit = [](int signal) { return std::uint64_t{1} << (signal - 1); };
    EXPECT_EQ(talk.blocked.load(), ~(bit(SIGKILL) | bit(SIGSTOP)));
    sigset_t after;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
    for (int signal = 1; signal < NSIG; ++signal) {
        EXPECT_EQ(::sigismember(&after, signal), ::sigismember(&before, signal)) << signal;
    }
}

TEST_F(RawThread, opens_nothing_in_the_programs_table) {
    const int next = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
    ASSERT_EQ(::close(next), 0);
    start();
    for (std::size_t i = 0; i < talk.opened.size(); ++i) {
        EXPECT_EQ(talk.opened[i].load(), static_cast<int>(i)) << "its own table was not empty";
    }
    EXPECT_EQ(::fcntl(next, F_GETFD), -1);
    const Fd again{::fcntl(0, F_DUPFD_CLOEXEC, 0)};
    EXPECT_EQ(again.get(), next);
}

/// Whether the other end of a pipe is seen to close while a raw thread lives.
bool pipe_ends(Talk& talk) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0 ||
        start_raw_thread(run, &talk, kStackBytes, talk.lives) <= 0) {
        return false;
    }
    talk.await_beginning();
    ::close(ends[1]);
    pollfd read_end{ends[0], POLLIN, 0};
    const bool ended = ::poll(&read_end, 1, 0) == 1 && (read_end.revents & POLLHUP) != 0;
    ::close(ends[0]);
    talk.over.store(true);
    return ended;
}

/// From now on the system call `number` fails with `error` in this process. Source: seccomp(2).
bool refuse_call(std::uint32_t number, std::uint32_t error) {
    std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{filter.size(), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(RawThreadInAChild, keeps_no_pipe_open) {
    collector::Child child{[] {
        Talk talk;
        ::_exit(pipe_ends(talk) ? 0 : 1);
    }};
    EXPECT_EQ(child.reap(), 0);
}

TEST(RawThreadInAChild, keeps_no_pipe_open_where_close_range_is_refused) {
    collector::Child child{[] {
        if (!refuse_call(SYS_close_range, EPERM) ||
            raw_syscall(SYS_close_range, ~0U, ~0U, 0) != -EPERM) {
            ::_exit(2);
        }
        Talk talk;
        ::_exit(pipe_ends(talk) && talk.opened[0].load() == 0 ? 0 : 1);
    }};
    EXPECT_EQ(WEXITSTATUS(child.reap()), 0);
}

/// In the second thread of a process: waits until the kernel has ended the first one.
int outlive(void* first) noexcept {
    while (static_cast<std::atomic<int>*>(first)->load() != 0) {
        raw_syscall(SYS_sched_yield);
    }
    return kStatus;
}

/// The status of a process whose first thread ends before the second one that `start` makes.
template <class Start>
int status_after(Start start) {
    collector::Child child{[start] {
        static std::atomic<int> first{1};
        raw_syscall(SYS_set_tid_address, as_argument(&first));
        start(first);
        raw_syscall(SYS_exit, kStatus + 1);
    }};
    return WEXITSTATUS(child.reap());
}

// Of older kernels the first thread's, of newer ones the last one's.
TEST(RawThreadInAChild, has_a_status_as_any_thread) {
    const int of_libcs = status_after([](std::atomic<int>& first) {
        std::thread{[&first] { raw_syscall(SYS_exit, outlive(&first)); }}.detach();
    });
    const int of_ours = status_after([](std::atomic<int>& first) {
        static std::atomic<int> lives;
        start_raw_thread(outlive, &first, kStackBytes, lives);
    });
    EXPECT_EQ(of_ours, of_libcs);
    EXPECT_TRUE(of_libcs == kStatus || of_libcs == kStatus + 1) << of_libcs;
}

TEST_F(RawThread, is_not_in_a_forked_child) {
    start();
    const std::uint64_t address = talk.stack.load();
    collector::Child child{[address] {
        int threads = 0;
        const Fd folder{open_task_folder()};
        for_each_number(folder.get(), [&threads](int) {
            ++threads;
            return true;
        });
        const bool has_stack = !mapping_at(address).first.empty();
        ::_exit(threads == 1 && !has_stack ? 0 : 1);
    }};
    EXPECT_EQ(child.reap(), 0);
}

TEST(ThreadApart, is_known_while_it_works_and_gone_afterwards) {
    for (int i = 0; i < 1'000; ++i) {
        int tid = 0;
        bool is_known = false;
        ASSERT_TRUE(with_own_descriptors([&]() noexcept {
            tid = static_cast<int>(raw_syscall(SYS_gettid));
            is_known = is_apart(tid);
        }));
        ASSERT_NE(tid, ::gettid());
        ASSERT_TRUE(is_known);
        ASSERT_FALSE(is_apart(tid));
        ASSERT_EQ(raw_syscall(SYS_tgkill, ::getpid(), tid, 0), -ESRCH) << "after " << i;
    }
}

// A terminal's or a debugger's stop is complete when all threads have stopped: the one that waits,
// too.
TEST(ThreadApart, is_stopped_with_the_process) {
    collector::Child child{[] {
        with_own_descriptors([]() noexcept {
            raw_syscall(SYS_tgkill, ::getpid(), raw_syscall(SYS_gettid), SIGSTOP);
        });
        ::_exit(kStatus);
    }};
    int status = 0;
    for (int look = 0; look < 1'000 && ::waitpid(child.pid(), &status, WUNTRACED | WNOHANG) == 0;
         ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_TRUE(WIFSTOPPED(status)) << "it is not told as stopped";
    ::kill(child.pid(), SIGCONT);
    EXPECT_EQ(WEXITSTATUS(child.reap()), kStatus);
}

TEST(RawThreadRefused, says_why) {
    Talk talk;
    EXPECT_EQ(start_raw_thread(run, &talk, std::size_t{1} << 50, talk.lives), -ENOMEM);
}

TEST(RawThreadRefused, leaves_no_stack_and_the_mask_as_it_was) {
    collector::Child child{[] {
        if (!refuse_call(SYS_clone, EAGAIN)) {
            ::_exit(3);
        }
        Talk talk;
        // As large as the machine's whole address space would hold a few of.
        for (int i = 0; i < 1'000; ++i) {
            if (start_raw_thread(run, &talk, std::size_t{1} << 40, talk.lives) != -EAGAIN) {
                ::_exit(1);
            }
        }
        sigset_t mask;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        ::_exit(::sigismember(&mask, SIGUSR1) == 0 ? 0 : 2);
    }};
    EXPECT_EQ(WEXITSTATUS(child.reap()), 0);
}

}  // namespace
}  // namespace sample::source
