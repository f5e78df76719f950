#include "sampler/agent/session_client.h"

#include "sampler/agent/child_environment.h"
#include "sampler/agent/collector_start.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/local_socket.h"
#include "sampler/agent/modules.h"
#include "sampler/agent/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/control/protocol.h"
#include "sampler/source/perf_event.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using control::Source;

constinit std::array<char, 64> g_session_name{};
constinit std::atomic<Source> g_source{Source::none};
constinit std::uint64_t g_period_ns = 0;
constinit bool g_kernel_excluded = false;

void say(const char* problem) noexcept {
    constexpr const char* kPrefix = "sample: not profiling: ";
    std::array<char, 640> line{};
    std::size_t size = 0;
    for (const char* part : {kPrefix, problem, "\n"}) {
        for (; *part != '\0' && size < line.size(); ++part) {
            line[size++] = *part;
        }
    }
    raw_syscall(SYS_write, 2, as_argument(line.data()), static_cast<long>(size));
}

/// The threads that exist already: usually the calling one alone.
struct ThreadList {
    std::array<int, control::kMaxPassedFds - 1> tids{};
    std::size_t count = 0;
};

ThreadList list_threads() noexcept {
    ThreadList list;
    if (__libc_single_threaded != 0) {
        list.tids[list.count++] = static_cast<int>(raw_syscall(SYS_gettid));
        return list;
    }
    const long folder =
        raw_syscall(SYS_open, as_argument("/proc/self/task"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        list.tids[list.count++] = static_cast<int>(raw_syscall(SYS_gettid));
        return list;
    }
    struct Entry {
        std::uint64_t inode;
        std::int64_t offset;
        std::uint16_t size;
        std::uint8_t type;
        char name[1];
    };
    alignas(8) std::array<char, 2048> buffer{};
    for (;;) {
        const long bytes = raw_syscall(SYS_getdents64, folder, as_argument(buffer.data()),
                                       static_cast<long>(buffer.size()));
        if (bytes <= 0) {
            break;
        }
        for (long at = 0; at < bytes;) {
            const auto* entry = reinterpret_cast<const Entry*>(buffer.data() + at);
            at += entry->size;
            const char* name = reinterpret_cast<const char*>(entry) + offsetof(Entry, name);
            if (name[0] >= '0' && name[0] <= '9' && list.count < list.tids.size()) {
                list.tids[list.count++] = atoi(name);
            }
        }
    }
    close_descriptor(static_cast<int>(folder));
    return list;
}

/// The CPU clock of another thread of this process. Source: clock_getcpuclockid(3), the kernel's
/// include/linux/posix-timers.h: CPUCLOCK_PERTHREAD_MASK 4, CPUCLOCK_SCHED 2.
clockid_t thread_clock(int tid) noexcept {
    return static_cast<clockid_t>(~tid << 3 | 6);
}

struct OpenEvents {
    control::Armed armed;
    std::array<int, control::kMaxPassedFds> fds{};
    std::size_t count = 0;
};

void close_events(OpenEvents& events) noexcept {
    for (std::size_t i = 0; i < events.count; ++i) {
        close_descriptor(events.fds[i]);
    }
    events.count = 0;
}

int open_event(Source source, bool exclude_kernel, int tid) noexcept {
    source::PerfRequest request;
    request.period_ns = g_period_ns;
    request.cookie = capture::kPerfCookie;
    request.exclude_kernel = exclude_kernel;
    request.sigtrap = source == Source::sigtrap;
    const int fd = source::open_cpu_clock(request, tid);
    if (fd < 0 || source == Source::sigtrap) {
        return fd;
    }
    const int result = source::send_signal_to(fd, tid, SIGURG);
    if (result < 0) {
        close_descriptor(fd);
        return result;
    }
    capture::add_perf_descriptor(fd);
    return fd;
}

/// One event for each thread. 0, or the negative errno of the calling thread's.
int open_all(Source source, bool exclude_kernel, const ThreadList& threads,
             OpenEvents& events) noexcept {
    const long self = raw_syscall(SYS_gettid);
    for (std::size_t i = 0; i < threads.count; ++i) {
        const int fd = open_event(source, exclude_kernel, threads.tids[i]);
        if (fd >= 0) {
            events.fds[events.count++] = fd;
        } else if (threads.tids[i] == self) {
            close_events(events);
            return fd;
        }
    }
    events.armed.source = source;
    events.armed.kernel_excluded = exclude_kernel ? 1 : 0;
    return 0;
}

/// Tries the sources in the collector's order, each first with and then without the kernel's part.
OpenEvents open_best(const control::Welcome& welcome, const ThreadList& threads) noexcept {
    OpenEvents events;
    for (const Source source : welcome.sources) {
        if (source == Source::none) {
            break;
        }
        int result = open_all(source, false, threads, events);
        if (result == -EACCES || result == -EPERM) {
            result = open_all(source, true, threads, events);
        }
        if (result == 0) {
            break;
        }
        (source == Source::sigtrap ? events.armed.sigtrap_errno : events.armed.perf_errno) =
            -result;
    }
    return events;
}

template <class T>
T* map_shared(int fd, std::size_t size) noexcept {
    const long address = raw_syscall(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (address < 0 && address > -4096) {
        return nullptr;
    }
    raw_syscall(SYS_madvise, address, static_cast<long>(size), MADV_DONTFORK);
    raw_syscall(SYS_madvise, address, static_cast<long>(size), MADV_DONTDUMP);
    return reinterpret_cast<T*>(address);
}

/// Everything between Hello and Go. Returns a problem for people, or null.
const char* converse(int socket, control::Hello& hello) noexcept {
    static control::Welcome welcome;
    if (send_message(socket, &hello, sizeof hello, nullptr, 0) != 0) {
        return "the collector does not listen";
    }
    std::array<int, 2> fds{-1, -1};
    std::size_t fd_count = fds.size();
    const long got = receive_message(socket, &welcome, sizeof welcome, fds.data(), fd_count);
    if (got != sizeof welcome) {
        return hello.starts_session != 0 ? "the collector could not start; try `sample doctor`"
                                         : nullptr;
    }
    if (welcome.accepted == 0 || fd_count != 2) {
        return welcome.refusal[0] != '\0' ? welcome.refusal.data() : nullptr;
    }
    auto* area = map_shared<capture::Area>(fds[0], sizeof(capture::Area));
    auto* page = map_shared<capture::SessionPage>(fds[1], 4096);
    close_descriptor(fds[0]);
    close_descriptor(fds[1]);
    if (area == nullptr || page == nullptr) {
        return "no address space for the sample buffers; raise `ulimit -v`";
    }
    g_session_name = welcome.session_name;
    g_period_ns = welcome.period_ns;
    set_up_children(g_session_name.data(), welcome.children != 0);

    const ThreadList threads = list_threads();
    OpenEvents events = open_best(welcome, threads);
    g_kernel_excluded = events.armed.kernel_excluded != 0;
    g_source.store(events.armed.source, std::memory_order_release);
    if (events.armed.source != Source::none) {
        set_up_gate(page, welcome.collector_pid, events.armed.source == Source::sigtrap);
        const unwind::ModuleTable* modules = module_table();
        area->header.table_bytes.store(
            capture::kRowCacheBytes + modules->modules().size_bytes() + index_budget().used_bytes,
            std::memory_order_relaxed);
        capture::attach(area, modules, deliver_to_program);
        for (std::size_t i = 0; i < threads.count; ++i) {
            const auto tid = static_cast<std::uint32_t>(threads.tids[i]);
            capture::add_early_thread(
                {tid, capture::read_kernel_clock_ns(thread_clock(threads.tids[i]))});
        }
        area->header.start_cpu_ns.store(capture::read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
        report_modules();
        take_signal(events.armed.source == Source::sigtrap ? SIGTRAP : SIGURG);
        area->header.kernel_excluded.store(events.armed.kernel_excluded);
        // Not left to the collector: on a busy machine a short program would end before.
        for (std::size_t i = 0; i < events.count; ++i) {
            raw_syscall(SYS_ioctl, events.fds[i], PERF_EVENT_IOC_ENABLE, 0);
        }
    }
    const int sent =
        send_message(socket, &events.armed, sizeof events.armed, events.fds.data(), events.count);
    close_events(events);
    return sent == 0 ? nullptr : "the collector went away";
}

}  // namespace

const char* session_name() noexcept {
    return g_session_name.data();
}

void join_session(JoinKind kind) noexcept {
    const char* problem = nullptr;
    int socket = -1;
    control::Hello hello;
    if (kind == JoinKind::fresh_image) {
        const char* name = getenv(control::kSessionVariable);
        if (name != nullptr && name[0] != '\0') {
            strncpy(g_session_name.data(), name, g_session_name.size() - 1);
        } else {
            socket = start_collector(problem);
            hello.starts_session = 1;
        }
    }
    if (socket < 0 && problem == nullptr) {
        // No listener: the session is over. That is normal for a descendant that outlives it.
        socket = connect_abstract(g_session_name.data());
    }
    if (socket >= 0) {
        hello.pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
        hello.parent_pid = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
        hello.forked = kind == JoinKind::after_fork ? 1 : 0;
        problem = converse(socket, hello);
        close_descriptor(socket);
    }
    if (problem != nullptr) {
        say(problem);
    }
    if (hello.starts_session != 0 && g_session_name[0] != '\0') {
        setenv(control::kSessionVariable, g_session_name.data(), 1);
    }
}

void arm_this_thread() noexcept {
    if (g_source.load(std::memory_order_acquire) != Source::perf) {
        return;
    }
    const int tid = static_cast<int>(raw_syscall(SYS_gettid));
    const int socket = connect_abstract(g_session_name.data());
    if (socket < 0) {
        return;
    }
    const int event = open_event(Source::perf, g_kernel_excluded, tid);
    if (event >= 0) {
        control::ArmThread message;
        message.pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
        control::Go go;
        std::size_t fd_count = 0;
        if (send_message(socket, &message, sizeof message, &event, 1) == 0) {
            receive_message(socket, &go, sizeof go, nullptr, fd_count);
        }
        close_descriptor(event);
    }
    close_descriptor(socket);
}

}  // namespace sample::agent
