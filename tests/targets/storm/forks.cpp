// Processes made in every way.
#include "storm.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <string>
#include <vector>

// After <csignal>: it has some of the same names. Source: clone3(2).
#include <linux/sched.h>

namespace storm {
namespace {

/// What a child is given to do. Nothing here is made in the child.
struct Task {
    std::uint64_t seed;
    const Image* image;
    bool may_allocate;     ///< libc prepared the fork, or there is no other thread.
    bool may_have_thread;  ///< There is no other thread, which could hold the loader's locks.
};

std::uint64_t allocate(std::uint64_t seed) {
    std::vector<std::string> words;
    for (std::size_t length = 1; length < 100; ++length) {
        words.emplace_back(length, static_cast<char>('a' + seed % 26));
    }
    return words.size();
}

/// Works, and ends by itself or as the image; or first does what needs a whole libc.
int do_task(void* argument) {
    const auto& task = *static_cast<const Task*>(argument);
    targets::consume(work(task.seed));
    const std::uint64_t choice = mix(task.seed, 5) % 6;
    if (choice < 2) {
        execv(task.image->argv[0], task.image->argv);
        return 3;
    }
    if (choice == 2) {
        syscall(SYS_execve, task.image->argv[0], task.image->argv, environ);
        return 4;
    }
    if (task.may_allocate) {
        targets::consume(choice == 3 && task.may_have_thread ? in_threads(task.seed, 2, allocate)
                                                             : allocate(task.seed));
        if (choice == 4) {
            in_child(mix(task.seed), [&] { targets::consume(work(task.seed)); });
        }
    }
    return task.image->code;
}

using Maker = pid_t (*)(Task& task);

/// A child that returns from its maker, as fork does.
template <class Fork>
pid_t forked(Task& task, Fork fork_so) {
    const auto child = static_cast<pid_t>(fork_so());
    if (child == 0) {
        _exit(do_task(&task));
    }
    return child;
}

pid_t by_fork(Task& task) {
    task.may_allocate = true;
    return forked(task, [] { return fork(); });
}

pid_t by_underscore_fork(Task& task) {
    return forked(task, [] { return _Fork(); });
}

pid_t by_fork_number(Task& task) {
    return forked(task, [] { return syscall(SYS_fork); });
}

pid_t by_clone_number(Task& task) {
    return forked(task,
                  [] { return syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); });
}

pid_t by_clone3_number(Task& task) {
    return forked(task, [] {
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        return syscall(SYS_clone3, &arguments, sizeof arguments);
    });
}

/// One stack for each child; those that share memory must not share that.
class Stack {
public:
    Stack()
        : low_{static_cast<char*>(
              mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))} {
        require(low_ != MAP_FAILED, "mmap");
    }
    ~Stack() { munmap(low_, kBytes); }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    [[nodiscard]] char* top() const { return low_ + kBytes; }

private:
    static constexpr std::size_t kBytes = std::size_t{256} * 1024;
    char* low_;
};

pid_t by_clone(Task& task) {
    const Stack stack;
    return clone(do_task, stack.top(), SIGCHLD, &task);
}

/// It shares descriptors and folders, not memory.
pid_t by_clone_files(Task& task) {
    const Stack stack;
    return clone(do_task, stack.top(), CLONE_FILES | CLONE_FS | SIGCHLD, &task);
}

std::uint64_t make(std::uint64_t seed, Maker maker) {
    const Image image{seed};
    Task task{seed, &image, !is_crowded(), !is_crowded()};
    const pid_t child = maker(task);
    require(child > 0, "no child");
    targets::consume(work(seed, 20));
    require_exit(child, image.code);
    return seed % 107;
}

template <Maker maker>
std::uint64_t made(std::uint64_t seed) {
    return make(seed, maker);
}

/// The child borrows all memory, and this thread's storage: it works, or execs.
int do_borrowed(void* argument) {
    const auto& task = *static_cast<const Task*>(argument);
    targets::consume(work(task.seed));
    if (task.seed % 2 == 0) {
        execv(task.image->argv[0], task.image->argv);
        return 3;
    }
    return task.image->code;
}

std::uint64_t vfork_child(std::uint64_t seed) {
    const Image image{seed};
    Task task{seed, &image, false, false};
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): the subject
    if (child == 0) {
        _exit(do_borrowed(&task));
    }
    require(child > 0, "vfork");
    require_exit(child, image.code);
    return seed % 109;
}

std::uint64_t clone_vfork(std::uint64_t seed) {
    const Image image{seed};
    Task task{seed, &image, false, false};
    const Stack stack;
    const pid_t child = clone(do_borrowed, stack.top(), CLONE_VM | CLONE_VFORK | SIGCHLD, &task);
    require(child > 0, "clone");
    require_exit(child, image.code);
    return seed % 113;
}

int do_shared(void* argument) {
    auto& task = *static_cast<Task*>(argument);
    task.seed = work(task.seed);
    return task.image->code;
}

/// Another process in the same memory, at the same time.
std::uint64_t clone_memory(std::uint64_t seed) {
    const Image image{seed};
    Task task{seed, &image, false, false};
    const Stack stack;
    const pid_t child = clone(do_shared, stack.top(), CLONE_VM | SIGCHLD, &task);
    require(child > 0, "clone");
    require_exit(child, image.code);
    return task.seed;
}

int g_prepared = 0;
int g_in_parent = 0;
int g_in_child = 0;

/// pthread_atfork's handlers run once each at a fork, and at no other child.
std::uint64_t fork_handlers(std::uint64_t seed) {
    static const int registered =
        pthread_atfork([] { ++g_prepared; }, [] { ++g_in_parent; }, [] { ++g_in_child; });
    require(registered == 0, "pthread_atfork");
    const int prepared = g_prepared;
    const int in_parent = g_in_parent;
    const int in_this_child = g_in_child;
    in_child(seed, [&] { require(g_in_child == in_this_child + 1, "the child's handler"); });
    const pid_t bare = _Fork();
    if (bare == 0) {
        _exit(g_in_child - in_this_child);
    }
    require_exit(bare, 0);
    require(g_prepared == prepared + 1 && g_in_parent == in_parent + 1, "the parent's handlers");
    return seed % 139;
}

/// A process that is big enough to make its fork slow.
std::uint64_t big_fork(std::uint64_t seed) {
    in_child(seed, [&] {
        const std::vector<char> much(std::size_t{64} << 20U, static_cast<char>(seed));
        for (int time = 0; time < 3; ++time) {
            in_child(mix(seed), [&] {
                targets::consume(work(seed));
                require(much[seed % much.size()] == static_cast<char>(seed), "memory");
            });
        }
    });
    return seed % 157;
}

/// Processes that make processes.
std::uint64_t fork_tree(std::uint64_t seed) {
    in_child(seed, [&] {
        const pid_t one = start_child(
            mix(seed, 1), [&] { in_child(mix(seed, 3), [&] { targets::consume(work(seed)); }); });
        in_child(mix(seed, 2), [&] { targets::consume(work(seed)); });
        require_exit(one, code_of(mix(seed, 1)));
    });
    return seed % 163;
}

constexpr Operation kOperations[] = {
    {"fork", made<by_fork>, kAnywhere},
    {"underscore_fork", made<by_underscore_fork>, kAnywhere},
    {"fork_by_number", made<by_fork_number>, kAnywhere},
    {"clone_by_number", made<by_clone_number>, kAnywhere},
    {"clone3_by_number", made<by_clone3_number>, kAnywhere},
    {"clone", made<by_clone>, kAnywhere},
    {"clone_files", made<by_clone_files>, kAnywhere},
    {"vfork", vfork_child, kAnywhere},
    {"clone_vfork", clone_vfork, kAnywhere},
    {"clone_memory", clone_memory, kAnywhere},
    {"big_fork", big_fork, kAnywhere},
    {"fork_tree", fork_tree, kAnywhere},
    {"fork_handlers", fork_handlers, kAlone},
};

}  // namespace

Operations fork_operations() {
    return kOperations;
}

}  // namespace storm
