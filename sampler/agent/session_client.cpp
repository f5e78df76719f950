#include "sampler/agent/session_client.h"

#include "sampler/agent/arming.h"
#include "sampler/agent/child_environment.h"
#include "sampler/agent/collector_start.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/local_socket.h"
#include "sampler/agent/modules.h"
#include "sampler/agent/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/control/protocol.h"
#include "sampler/source/task_list.h"

#include <fcntl.h>
#include <sys/mman.h>
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

/// What the handler needs, before the first sample.
void prepare_capture(capture::Area& area, const ThreadList& threads,
                     const control::Armed& armed) noexcept {
    const unwind::ModuleTable* modules = module_table();
    area.header.table_bytes.store(
        capture::kRowCacheBytes + modules->modules().size_bytes() + index_budget().used_bytes,
        std::memory_order_relaxed);
    capture::attach(&area, modules, deliver_to_program);
    for (std::size_t i = 0; i < threads.count; ++i) {
        capture::add_early_thread(
            {static_cast<std::uint32_t>(threads.tids[i]), source::cpu_ns_of(threads.tids[i])});
    }
    area.header.start_cpu_ns.store(capture::read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    report_modules();
    take_signal(signal_of(armed.source));
    area.header.kernel_excluded.store(armed.kernel_excluded);
}

/// Everything from Hello on. Returns a problem for people, or null.
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
    set_up_children(g_session_name.data(), welcome.children != 0);

    const ThreadList threads = list_threads();
    area->header.observes_waits.store(welcome.observes_waits);
    Arming arming = arm(welcome, threads, *area);
    const control::Armed& armed = arming.armed;
    if (armed.source != Source::none) {
        set_up_gate(page, welcome.collector_pid, armed.source == Source::sigtrap);
        prepare_capture(*area, threads, armed);
        // Not left to the collector: on a busy machine a short program would end before.
        enable_events(arming);
    }
    const int sent = send_message(socket, &armed, sizeof armed, arming.fds.data(), arming.count);
    close_events(arming);
    start_sources(sent == 0 && armed.source != Source::none);
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

void begin_thread() noexcept {
    capture::begin_thread();
    if (may_join()) {
        arm_this_thread(g_session_name.data());
    }
}

}  // namespace sample::agent
