#include "sampler/agent/session/session_client.h"

#include "core/kernel_clock.h"
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/late_start.h"
#include "sampler/agent/modules.h"
#include "sampler/agent/processes/child_environment.h"
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/session/arming.h"
#include "sampler/agent/session/local_socket.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/agent/trace/channels.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/thread_slots.h"
#include "sampler/control/protocol.h"
#include "sampler/instrument/definitions.h"
#include "sampler/source/tasks.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using control::Source;

/// In all: a collector that has much to do may need so long.
constexpr std::uint64_t kMostToJoinNs = 5'000'000'000;
/// A collector that this process has started is read from a disk first.
constexpr std::uint64_t kMostToStartNs = 20'000'000'000;
constexpr std::uint64_t kQuietAtStartNs = 2'000'000'000;
constexpr std::size_t kPageBytes = 4096;

/// This process has started the session, and its environment does not say so yet.
constinit bool g_is_unpublished = false;

/// Whether this program runs on the processor that valgrind simulates: there our signals would end
/// it, and its stacks are not what the kernel sees. Elsewhere these instructions do nothing.
/// Source: valgrind.h, RUNNING_ON_VALGRIND and the client request of amd64.
bool runs_in_valgrind() noexcept {
    constexpr std::uint64_t kRunningOnValgrind = 0x1001;
    const std::array<std::uint64_t, 6> request{kRunningOnValgrind};
    std::uint64_t answer = 0;
    asm volatile(
        "rolq $3, %%rdi\n\t"
        "rolq $13, %%rdi\n\t"
        "rolq $61, %%rdi\n\t"
        "rolq $51, %%rdi\n\t"
        "xchgq %%rbx, %%rbx"
        : "+d"(answer)
        : "a"(request.data())
        : "cc", "memory");
    return answer != 0;
}

/// A forked child takes the other one than its parent: what a handler that forked had interrupted
/// goes on with its parent's.
alignas(capture::Area) constinit std::array<std::array<std::byte, sizeof(capture::Area)>,
                                            2> g_area_storage{};
/// In one of the two; in a forked child its parent's, until it has its own.
constinit const capture::Area* g_area = nullptr;

/// Memory that nobody can make smaller: what is mapped of it stays. Its bytes, else 0.
std::size_t sealed_bytes(int fd) noexcept {
    struct stat info = {};
    const long seals = raw_syscall(SYS_fcntl, fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
                   raw_syscall(SYS_fstat, fd, as_argument(&info)) == 0
               ? static_cast<std::size_t>(info.st_size)
               : 0;
}

/// What the program says once. Stays mapped in a forked child, until that has its own.
constinit capture::DefinitionStore* g_definitions = nullptr;

template <class T>
T* map_shared(int fd, std::size_t size, std::size_t offset = 0) noexcept {
    const long address = raw_syscall(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_NORESERVE, fd, static_cast<long>(offset));
    if (capture::is_failure(address)) {
        return nullptr;
    }
    raw_syscall(SYS_madvise, address, static_cast<long>(size), MADV_DONTDUMP);
    return reinterpret_cast<T*>(address);
}

/// What samples may take of the program's addresses. Where they are limited (`ulimit -v`), what we
/// take is taken from the program: a sixteenth, and nothing where a few threads need more.
std::size_t affordable_bytes() noexcept {
    constexpr std::size_t kShare = 16;
    constexpr std::size_t kLeast = std::size_t{16} << 20U;
    rlimit limit{};
    raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, as_argument(&limit));
    const std::size_t share = limit.rlim_cur / kShare;
    return share < kLeast ? 0 : share - capture::Area::kFirstBytes;
}

/// False: it is no answer of a collector of ours.
bool is_sound(const control::Welcome& welcome) noexcept {
    return welcome.kind == control::MessageKind::welcome && welcome.refusal.back() == '\0' &&
           welcome.session.back() == '\0' && welcome.control_socket.back() == '\0' &&
           (welcome.accepted == 0 || welcome.period != 0);
}

/// What the handler needs, before the first sample.
void prepare_capture(capture::Area& area, const ThreadList& threads,
                     const control::Armed& armed) noexcept {
    const unwind::ModuleTable* modules = module_table();
    if (is_loaded_late()) {
        // Which never ends: nobody would say when one does.
        capture::begin_unload(modules, capture::Unloader::anybody);
    }
    // Before the first thread's state is mapped.
    capture::set_collector(static_cast<int>(collector_pid()));
    capture::attach(&area, modules, deliver_to_program);
    if (is_loaded_late() && find_invitation() != nullptr) {
        capture::begin_as_observer();
    }
    capture::g_attached->definitions.store(g_definitions, std::memory_order_release);
    if (g_definitions != nullptr) {
        hand_over_channels(*g_definitions);
    }
    capture::limit_address_space(affordable_bytes());
    area.header.table_bytes.store(
        capture::kRowCacheBytes + modules->modules().size_bytes() + index_budget().used_bytes,
        std::memory_order_relaxed);
    for (std::size_t i = 0; i < threads.count; ++i) {
        capture::add_early_thread(
            {static_cast<std::uint32_t>(threads.tids[i]), source::cpu_ns_of(threads.tids[i])});
    }
    area.header.start_cpu_ns.store(read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    report_modules();
    if (armed.source != Source::none) {
        take_signal(signal_of(armed.source));
    }
    area.header.kernel_excluded.store(armed.kernel_excluded);
}

/// Puts private memory there: what writes on, as a signal handler that forked had interrupted it,
/// harms nothing. `how`: MAP_FIXED replaces what is mapped, MAP_FIXED_NOREPLACE does not.
void stand_in_for(std::span<std::byte> bytes, int how) noexcept {
    raw_syscall(SYS_mmap, as_argument(bytes.data()), static_cast<long>(bytes.size()),
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
}

/// False: no address space for them.
bool map_definitions(int area_fd, std::size_t file_bytes) noexcept {
    auto* const mapped = map_shared<capture::DefinitionStore>(
        area_fd, sizeof(capture::DefinitionStore), file_bytes - sizeof(capture::DefinitionStore));
    capture::DefinitionStore* const before = g_definitions;
    if (mapped != nullptr && before != nullptr) {
        instrument::copy_definitions(*before, *mapped);
        stand_in_for({reinterpret_cast<std::byte*>(before), sizeof *before}, MAP_FIXED);
    }
    g_definitions = mapped;
    return mapped != nullptr;
}

/// What was sent for the process, mapped. The session's page stays over a fork, and is its
/// parent's.
struct Mapped {
    capture::Area* area = nullptr;
    capture::SessionPage* page = nullptr;
};

Mapped map_all(int area_fd, int page_fd, bool with_definitions) noexcept {
    Mapped mapped;
    mapped.page = session_page();
    if (mapped.page == nullptr && sealed_bytes(page_fd) >= kPageBytes) {
        mapped.page = map_shared<capture::SessionPage>(page_fd, kPageBytes);
    }
    const std::size_t bytes = sealed_bytes(area_fd);
    if (mapped.page == nullptr || bytes < capture::file_bytes(1) ||
        (with_definitions && !map_definitions(area_fd, bytes))) {
        return mapped;
    }
    auto* start = map_shared<capture::AreaStart>(area_fd, capture::Area::kFirstBytes);
    if (start != nullptr) {
        raw_syscall(SYS_madvise, as_argument(start), capture::Area::kFirstBytes, MADV_DONTFORK);
        std::byte* const other =
            g_area_storage[as_argument(g_area) == as_argument(g_area_storage[0].data()) ? 1 : 0]
                .data();
        mapped.area = new (other)
            capture::Area{*start, (bytes - capture::file_bytes(0)) / sizeof(capture::ChunkGroup)};
        g_area = mapped.area;
    }
    return mapped;
}

/// What the collector passes.
struct PassedFds {
    std::array<int, 2> fds{-1, -1};
    std::size_t count = fds.size();

    PassedFds() = default;
    ~PassedFds() { close(); }
    PassedFds(const PassedFds&) = delete;
    PassedFds& operator=(const PassedFds&) = delete;

    void close() noexcept {
        for (int& fd : fds) {
            close_descriptor(std::exchange(fd, -1));
        }
    }
};

/// The collector lists this process as one that is not profiled.
void decline(int socket, const control::Hello& hello, control::NotProfiled reason,
             Patience& patience) noexcept {
    constexpr const char* kOwnFile = "/proc/thread-self/exe";
    control::Unprofiled program;
    program.reason = reason;
    program.secret = hello.secret;
    program.pid = program.sender_pid = hello.pid;
    program.parent_pid = hello.parent_pid;
    struct stat file {};
    if (raw_syscall(SYS_newfstatat, AT_FDCWD, as_argument(kOwnFile), as_argument(&file)) == 0) {
        program.device = file.st_dev;
        program.inode = file.st_ino;
    }
    raw_syscall(SYS_readlink, as_argument(kOwnFile), as_argument(program.path.data()),
                static_cast<long>(program.path.size() - 1));
    send_message(socket, &program, sizeof program, nullptr, 0, patience);
}

bool is_only_listened_to(const control::Welcome& welcome) noexcept {
    return welcome.traces != 0 && welcome.sources.front() == Source::none;
}

/// The collector does it, too, but on a busy machine a short program would end before. What it
/// wants meanwhile it says before it switches: in the end they are as it wants them.
void begin_ahead_of_collector(const Arming& arming, const capture::AreaHeader& header) noexcept {
    for (bool is_on = false; is_on != (header.gate_shut.load() == 0);) {
        is_on = !is_on;
        switch_events(arming, is_on);
    }
}

/// From the sources on: `welcome` is accepted. Returns a problem for people, or null.
const char* begin_sampling(int socket, const control::Hello& hello, const control::Welcome& welcome,
                           capture::Area& area, Patience& patience) noexcept {
    const ThreadList threads = list_threads();
    area.header.observes_waits.store(welcome.observes_waits);
    Arming arming = arm(welcome, threads, area);
    const control::Armed& armed = arming.armed;
    // Without sampling what the program says is all that is wanted.
    const bool takes_part = armed.source != Source::none || is_only_listened_to(welcome);
    if (takes_part) {
        set_up_gate(armed.source == Source::sigtrap);
        prepare_capture(area, threads, armed);
    }
    // Before the first sample: where one takes longer than a period nothing else would get on here,
    // and only who knows of this process can sample it less often.
    const int sent =
        send_message(socket, &armed, sizeof armed, arming.fds.data(), arming.count, patience);
    if (takes_part && sent == 0) {
        begin_ahead_of_collector(arming, area.header);
    }
    close_events(arming);
    start_sources(sent == 0 && armed.source != Source::none);
    return sent == 0 || hello.starts_session == 0
               ? nullptr
               : "the collector went away; start the program again";
}

/// Everything from Hello on. Returns a problem for people, or null.
const char* converse(int socket, control::Hello& hello, Patience& patience) noexcept {
    static control::Welcome welcome;
    if (send_message(socket, &hello, sizeof hello, nullptr, 0, patience) != 0) {
        return hello.starts_session != 0 ? "the collector does not listen; start the program again"
                                         : nullptr;
    }
    PassedFds passed;
    const long got = receive_message(socket, &welcome, sizeof welcome, passed.fds.data(),
                                     passed.count, patience);
    if (got == -EAGAIN) {
        leave_word();
    }
    if (got != sizeof welcome || !is_sound(welcome)) {
        return hello.starts_session != 0 ? "the collector could not start; try `sample doctor`"
                                         : nullptr;
    }
    if (welcome.accepted == 0 || passed.count != 2) {
        return welcome.refusal[0] != '\0' ? welcome.refusal.data() : nullptr;
    }
    if (affordable_bytes() == 0) {
        decline(socket, hello, control::NotProfiled::little_address_space, patience);
        return nullptr;
    }
    const auto [area, page] = map_all(passed.fds[0], passed.fds[1], welcome.traces != 0);
    passed.close();
    if (area == nullptr || area->header.magic != capture::kAreaMagic) {
        return "no address space for the sample buffers; raise `ulimit -v`";
    }
    if (hello.starts_session != 0 && !set_session(welcome.session.data())) {
        return "the collector is not of this version; install `sample` and libsample.so together";
    }
    set_up_watch(page, welcome.collector_pid);
    set_control_socket(welcome.control_socket.data());
    set_up_children(welcome.children != 0);
    return begin_sampling(socket, hello, welcome, *area, patience);
}

/// A socket to the session's collector, or -1: nobody listens, and the session is over (normal for
/// a descendant that outlives it), or the listener is somebody else's.
int find_collector(Patience& patience) noexcept {
    if (session_name()[0] == '\0' || !may_wait()) {
        return -1;
    }
    const int socket = connect_to_collector(session_name(), patience);
    if (socket == -EAGAIN) {
        leave_word();
    }
    return socket;
}

void introduce_in(control::Hello& hello, JoinKind kind) noexcept {
    hello.secret = session_secret();
    hello.pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
    hello.parent_pid = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
    hello.forked = kind == JoinKind::after_fork ? 1 : 0;
    hello.comes_late = is_loaded_late() ? 1 : 0;
    hello.run_by_loader = is_run_by_loader() ? getauxval(AT_PHDR) : 0;
}

/// Whether `sample` has started it, and a person waits for it. Whatever another process of the
/// session has open as its standard error is not for us to write to.
bool is_command(const control::Hello& hello, const Patience& patience) noexcept {
    return hello.forked == 0 && hello.parent_pid != 0 &&
           hello.parent_pid == static_cast<std::uint32_t>(patience.collector());
}

}  // namespace

void stand_in_for_area() noexcept {
    // Nothing is said of the program, so no handler interrupts anything that writes it.
    if (g_area == nullptr || g_definitions == nullptr) {
        return;
    }
    const auto stand_in = [](std::span<std::byte> bytes) {
        stand_in_for(bytes, MAP_FIXED_NOREPLACE);
    };
    g_area->for_each_mapping(stand_in);
    capture::thread_states().for_each_mapping(stand_in);
}

void say_problem(const char* problem) noexcept {
    if (problem == nullptr) {
        return;
    }
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

const char* join_session(JoinKind kind, const char* session) noexcept {
    if (session == nullptr && kind == JoinKind::fresh_image) {
        session = getenv(control::kSessionVariable);
    }
    if (runs_in_valgrind()) {
        return session == nullptr && kind == JoinKind::fresh_image
                   ? "valgrind runs this program on a simulated processor; run it without"
                   : nullptr;
    }
    const char* problem = nullptr;
    int socket = -1;
    control::Hello hello;
    Patience patience{static_cast<int>(collector_pid()), kMostToJoinNs};
    if (kind == JoinKind::fresh_image) {
        hello.starts_session = session == nullptr || session[0] == '\0' ? 1 : 0;
        if (hello.starts_session == 0) {
            set_session(session);  // of another form: it names nobody
        }
    }
    if (hello.starts_session != 0) {
        int collector = 0;
        socket = start_collector(collector, problem);
        patience = Patience{collector, kMostToStartNs, kQuietAtStartNs};
    } else {
        socket = find_collector(patience);
    }
    if (socket >= 0) {
        introduce_in(hello, kind);
        problem = converse(socket, hello, patience);
        close_descriptor(socket);
    }
    if (hello.starts_session == 0 && !is_loaded_late() && !is_command(hello, patience)) {
        problem = nullptr;
    }
    g_is_unpublished = hello.starts_session != 0 && session_name()[0] != '\0';
    return problem;
}

void publish_session() noexcept {
    if (std::exchange(g_is_unpublished, false)) {
        setenv(control::kSessionVariable, session_entry() + strlen(control::kSessionVariable) + 1,
               1);
    }
}

AnnouncedTracing::AnnouncedTracing(int pid) noexcept : area_{capture::current_area()} {
    if (area_ == nullptr || !may_join()) {
        area_ = nullptr;
        return;
    }
    area_->header.tracing_calls.fetch_add(1);
    control::Tracing message;
    message.sender_pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
    message.pid = static_cast<std::uint32_t>(pid);
    tell_collector(message, kMostToJoinNs, AfterTelling::await_go);
}

AnnouncedTracing::~AnnouncedTracing() {
    if (area_ != nullptr) {
        area_->header.tracing_calls.fetch_sub(1);
    }
}

void send_to_collector(std::span<const std::byte> message, std::uint64_t most_ns, AfterTelling then,
                       int fd) noexcept {
    Patience patience{static_cast<int>(collector_pid()), most_ns};
    const int socket = find_collector(patience);
    if (socket < 0) {
        return;
    }
    control::Go go;
    std::size_t fd_count = 0;
    if (send_message(socket, message.data(), message.size(), &fd, fd >= 0 ? 1 : 0, patience) == 0 &&
        then == AfterTelling::await_go &&
        receive_message(socket, &go, sizeof go, nullptr, fd_count, patience) == -EAGAIN) {
        leave_word();
    }
    close_descriptor(socket);
}

void begin_thread() noexcept {
    capture::begin_thread();
    if (may_join()) {
        arm_this_thread();
    }
}

}  // namespace sample::agent
