#include "sampler/collector/joining/doorkeeper.h"

#include "sampler/collector/process/channel_switch.h"
#include "sampler/collector/process/proc_files.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

namespace sample::collector {
namespace {

/// How long who execs waits for what its old image has left to be read.
constexpr std::chrono::milliseconds kMostForNames{50};
/// As often the word that nobody may wait for us is taken back, if it was given.
constexpr int kPauseMs = 1000;

capture::KernelCount kernel_count_of(const source::EventSpec& event) {
    if (event.type != PERF_TYPE_SOFTWARE) {
        return capture::KernelCount::none;
    }
    switch (event.config) {
        case PERF_COUNT_SW_PAGE_FAULTS:
            return capture::KernelCount::faults;
        case PERF_COUNT_SW_PAGE_FAULTS_MIN:
            return capture::KernelCount::minor_faults;
        case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
            return capture::KernelCount::major_faults;
        case PERF_COUNT_SW_CONTEXT_SWITCHES:
            return capture::KernelCount::switches;
        default:
            return capture::KernelCount::none;
    }
}

/// What comes behind sigtrap: an event is nothing that a thread of ours could see, and the source
/// perf sees nothing of the kernel.
std::vector<control::Source> without_sigtrap(const source::EventSpec& event) {
    using control::Source;
    if (event.is_default()) {
        return {Source::perf, Source::thread};
    }
    return event.in_kernel ? std::vector<Source>{} : std::vector{Source::perf};
}

/// What it would have said of itself.
control::Unprofiled traced_program(pid_t pid) {
    control::Unprofiled program;
    program.reason = control::NotProfiled::traced;
    program.pid = static_cast<std::uint32_t>(pid);
    program.sender_pid = program.pid;
    program.parent_pid = static_cast<std::uint32_t>(parent_of(pid));
    struct stat info = {};
    if (::stat(living_path(pid, "exe").c_str(), &info) == 0) {
        program.device = info.st_dev;
        program.inode = info.st_ino;
    }
    copy_text(program.path, executable_of(pid));
    return program;
}

}  // namespace

Doorkeeper::Doorkeeper(const Parts& parts, SessionKey key)
    : parts_{parts},
      key_{std::move(key)},
      spare_area_{parts.options.expiry_period(), parts.options.max_stack, parts.options.channels},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      reserve_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

Doorkeeper::~Doorkeeper() {
    close();
}

Result<std::unique_ptr<Doorkeeper>> Doorkeeper::open(const Parts& parts) {
    SessionKey key;
    if (!SessionKey::make(key)) {
        return unexpected(Error::from_errno("cannot make the session's secret"));
    }
    std::unique_ptr<Doorkeeper> door{new Doorkeeper{parts, std::move(key)}};
    if (const auto listening = door->listen(); !listening) {
        return unexpected(listening.error());
    }
    return door;
}

Result<void> Doorkeeper::listen() {
    listener_ = Fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, key_.name.data(), key_.name.size());
    const auto size =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + key_.name.size());
    if (!listener_.is_open() || !wake_.is_open() || !reserve_.is_open() ||
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_.get(), SOMAXCONN) != 0) {
        return unexpected(Error::from_errno("cannot listen for the profiled processes"));
    }
    return {};
}

void Doorkeeper::start(pid_t root, Fd connected) {
    root_ = root;
    if (connected.is_open()) {
        root_waits_ = true;
        Connection& connection = connections_.emplace_back();
        connection.socket = std::move(connected);
        connection.pid = root;
        connection.is_known = true;
        connection.since_ns = monotonic_ns();
    }
    thread_ = std::thread{[this] { run(); }};
}

void Doorkeeper::close() {
    if (thread_.joinable()) {
        closing_.store(true);
        ::eventfd_write(wake_.get(), 1);
        thread_.join();
    }
    for (Connection& connection : connections_) {
        turn_away(std::move(connection.socket));
    }
    connections_.clear();
    listener_.reset();
}

void Doorkeeper::run() {
    while (!closing_.load()) {
        was_late_ = parts_.gatekeeper.clear_stalled() || was_late_;
        spare_area_.prepare(parts_.clock.ticks_per_ns());
        poll_once(kPauseMs);
    }
    poll_once(0);
}

void Doorkeeper::poll_once(int timeout_ms) {
    std::vector<pollfd> fds;
    fds.push_back({listener_.get(), POLLIN, 0});
    fds.push_back({wake_.get(), POLLIN, 0});
    for (const Connection& connection : connections_) {
        fds.push_back({connection.socket.get(), POLLIN, 0});
    }
    if (::poll(fds.data(), fds.size(), timeout_ms) > 0) {
        std::size_t index = 2;
        for (auto at = connections_.begin(); at != connections_.end(); ++index) {
            if (fds[index].revents != 0 && !serve(*at)) {
                turn_away(std::move(at->socket));
                at = connections_.erase(at);
            } else {
                ++at;
            }
        }
        // No more at once: anybody may connect, and others wait meanwhile.
        constexpr int kMostAtOnce = 1024;
        for (int i = 0; i < kMostAtOnce && fds[0].revents != 0 && accept_one(); ++i) {
        }
    }
    drop_the_silent();
}

bool Doorkeeper::accept_one() {
    Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!socket.is_open()) {
        if (errno != EMFILE && errno != ENFILE) {
            return errno == ECONNABORTED || errno == EINTR;
        }
        // It is let in and sent away: left in the queue it would wake us again and again.
        reserve_.reset();
        Fd turned{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        const bool was_there = turned.is_open();
        turn_away(std::move(turned));
        reserve_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        refusal_ = "no descriptor is left: raise `ulimit -n`";
        return was_there;
    }
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool is_told = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    // A session of root's has processes of any user.
    if (is_told && (peer.uid == ::geteuid() || ::geteuid() == 0)) {
        admit(std::move(socket), peer.pid);
    } else {
        turn_away(std::move(socket));
    }
    return true;
}

void Doorkeeper::admit(Fd socket, pid_t peer) {
    Connection& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    connection.pid = peer;
    connection.since_ns = monotonic_ns();
    // It has spoken already, mostly: an exec waits for us.
    if (!serve(connection)) {
        turn_away(std::move(connection.socket));
        connections_.pop_back();
    }
    const auto is_silent = [](const Connection& each) { return each.ticket == 0; };
    if (static_cast<std::size_t>(
            std::count_if(connections_.begin(), connections_.end(), is_silent)) > kMostSilent) {
        const auto oldest = std::find_if(connections_.begin(), connections_.end(), is_silent);
        turn_away(std::move(oldest->socket));
        connections_.erase(oldest);
    }
}

void Doorkeeper::drop_the_silent() {
    const std::uint64_t now = monotonic_ns();
    connections_.remove_if([now](Connection& each) {
        const std::uint64_t most =
            each.ticket == 0 ? kPatienceWithSilentNs : kPatienceWithGreetedNs;
        const bool is_over = now - each.since_ns > most;
        if (is_over) {
            turn_away(std::move(each.socket));
        }
        return is_over;
    });
}

bool Doorkeeper::serve(Connection& connection) {
    pollfd ready{connection.socket.get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) {
        return true;
    }
    auto received = receive(connection.socket.get());
    if (!received) {
        return false;
    }
    const auto opens = [&](const control::Secret& said) {
        return connection.is_known || key_.opens_with(said);
    };
    control::Hello hello;
    if (parse(*received, control::MessageKind::hello, hello)) {
        return hello.version == control::kProtocolVersion && opens(hello.secret) &&
               connection.ticket == 0 && greet(connection, hello);
    }
    control::Armed armed;
    if (parse(*received, control::MessageKind::armed, armed)) {
        return arm(connection, armed, std::move(received->fds));
    }
    control::Unprofiled unprofiled;
    if (parse(*received, control::MessageKind::unprofiled, unprofiled) &&
        opens(unprofiled.secret)) {
        parts_.arrivals.add(Announced{unprofiled, connection.pid, monotonic_ns()});
        return false;
    }
    control::Tracing tracing;
    if (parse(*received, control::MessageKind::tracing, tracing) && opens(tracing.secret)) {
        await_tracer(connection, tracing);
        return false;
    }
    control::ArmThread said;
    if (parse(*received, control::MessageKind::arm_thread, said) && opens(said.secret)) {
        arm_thread(connection, said, std::move(received->fds));
    }
    return false;
}

std::vector<control::Source> Doorkeeper::sources_for(Connection& connection) {
    using control::Source;
    if (!parts_.options.samples) {
        return {};
    }
    if (parts_.options.source != Source::none) {
        return {parts_.options.source};
    }
    if (connection.comes_late && parts_.options.event.is_default()) {
        return {Source::thread};
    }
    std::string& reason = connection.identity.source_reason;
    if (connection.tracer != 0) {
        reason = "a debugger or tracer is attached, and would stop at each SIGTRAP";
        return without_sigtrap(parts_.options.event);
    }
    if (programs_.is_go(connection.pid)) {
        reason = "a Go program's runtime treats SIGTRAP as fatal";
        return without_sigtrap(parts_.options.event);
    }
    std::vector<Source> sources = without_sigtrap(parts_.options.event);
    sources.insert(sources.begin(), Source::sigtrap);
    return sources;
}

control::Welcome Doorkeeper::answer_to(Connection& connection) {
    control::Welcome answer;
    answer.accepted = 1;
    answer.collector_pid =
        connection.identity.same_pid_namespace ? static_cast<std::uint32_t>(::getpid()) : 0;
    answer.event_type = parts_.options.event.type;
    answer.event_config = parts_.options.event.config;
    answer.period = parts_.options.period_at(parts_.pace.frequency_hz.load());
    answer.observes_waits = parts_.options.clock == trace::Clock::wall ? 1 : 0;
    answer.traces = parts_.options.channels.empty() ? 0 : 1;
    answer.children = parts_.options.children ? 1 : 0;
    copy_text(answer.session, key_.text());
    copy_text(answer.control_socket, parts_.control_socket);
    const auto sources = sources_for(connection);
    std::copy(sources.begin(), sources.end(), answer.sources.begin());
    return answer;
}

bool Doorkeeper::refuse(Connection& connection, const std::string& why) {
    if (!why.empty()) {
        refusal_ = why;
    }
    send_refusal(connection.socket, why);
    return false;
}

// An emulator of programs (qemu-user) hands its environment to the loader of the program inside,
// which loads an agent of its own. Two in one process would take each other's signals for theirs.
bool Doorkeeper::has_agent(pid_t pid) const {
    const auto joined = joined_.find(pid);
    const auto last = joined == joined_.end() ? nullptr : joined->second.lock();
    if (last == nullptr || last->area().header.last_cpu_ns.load() != 0) {
        return false;
    }
    // An exec past libc says nothing, but leaves no mapping behind.
    const std::string area = std::string{"/memfd:"} + kAreaName + " (deleted)";
    const auto mappings = mappings_of(pid);
    return std::any_of(mappings.begin(), mappings.end(),
                       [&](const Mapping& mapping) { return mapping.path == area; });
}

void Doorkeeper::set_up(AreaMapping& mapping) const {
    capture::AreaHeader& header = mapping.area().header;
    header.skipped_share = parts_.options.skipped_share();
    const std::uint32_t hz = parts_.pace.frequency_hz.load();
    set_period(header, parts_.options.expiry_period_at(hz), parts_.clock.ticks_per_ns());
    header.frequency_hz = parts_.options.has_frequency() ? hz : 0;
    header.off = parts_.pace.is_on.load() ? 0 : 1;
    header.gate_shut = header.off.load();
    if (!parts_.options.event.is_clock) {
        header.gap_ticks = capture::kCountsEvents;
        header.kernel_count = kernel_count_of(parts_.options.event);
    }
    if (parts_.pace.switches.load() != 0 && mapping.definitions() != nullptr) {
        set_wanted_channels(*mapping.definitions(), parts_.pace.channels());
    }
}

bool Doorkeeper::greet(Connection& connection, const control::Hello& hello) {
    const pid_t pid = connection.pid;
    // The image before this one need not have waited for us.
    serve_waiting(pid);
    connection.ticket = next_ticket_++;
    if (turns_all_away_.load() || (!parts_.options.children && pid != root_)) {
        return refuse(connection, "");
    }
    if (hello.forked == 0 && has_agent(pid)) {
        return refuse(connection, "");
    }
    const std::string status = status_of(pid);
    connection.tracer = tracer_in(status);
    connection.comes_late = hello.comes_late != 0;
    connection.identity.rights = lesser_rights_in(status, nullptr);
    if (connection.tracer != 0 && joined_.contains(connection.tracer)) {
        if (hello.forked == 0) {
            parts_.arrivals.add(Announced{traced_program(pid), pid, monotonic_ns()});
        }
        return refuse(connection, "");
    }
    if (static_cast<std::size_t>(std::count_if(
            connections_.begin(), connections_.end(),
            [](const Connection& each) { return each.mapping != nullptr; })) >= kMostGreeted) {
        return refuse(connection, "too many processes join at once");
    }
    tell_arrival(connection, hello);
    if (hello.forked == 0 && joined_.contains(pid)) {
        // The new image may write to the files that name the old one's code.
        loop_is_late_ = !parts_.arrivals.wait_until_done(
            loop_is_late_ ? std::chrono::milliseconds{0} : kMostForNames);
    }
    auto mapping = spare_area_.take(parts_.clock.ticks_per_ns(), pid == root_ && root_waits_);
    if (!mapping) {
        return refuse(connection, mapping.error().message());
    }
    connection.mapping = *mapping;
    set_up(*connection.mapping);
    const control::Welcome answer = answer_to(connection);
    // Once it has the answer it may be gone at any time.
    connection.pidfd = Fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    if (!send_with_fds(connection.socket.get(), &answer, sizeof answer,
                       {connection.mapping->fd(), parts_.gatekeeper.page_fd()}, 2)) {
        was_late_ = true;
        return false;
    }
    return true;
}

void Doorkeeper::tell_arrival(Connection& connection, const control::Hello& hello) {
    const pid_t pid = connection.pid;
    ProcessIdentity& identity = connection.identity;
    identity.pid = pid;
    identity.same_pid_namespace = pid == static_cast<pid_t>(hello.pid);
    identity.parent =
        identity.same_pid_namespace ? static_cast<pid_t>(hello.parent_pid) : parent_of(pid);
    identity.executable =
        hello.run_by_loader != 0 ? mapping_at(pid, hello.run_by_loader).path : executable_of(pid);
    identity.command_line = command_line_of(pid);
    identity.is_time = parts_.options.event.is_clock;
    if (const auto stat = stat_of(pid)) {
        identity.system_before_ns = stat->system_cpu_ns;
    }
    Greeted greeted{pid, connection.ticket, process_cpu_ns(pid), hello.forked != 0, identity.parent,
                    {}};
    if (greeted.forked) {
        serve_waiting(identity.parent);
        const ActingAs its_user{identity.rights};
        greeted.at_fork = {perf_map_of(identity.parent, static_cast<pid_t>(hello.parent_pid)),
                           monotonic_ns()};
    }
    parts_.arrivals.add(std::move(greeted));
}

void Doorkeeper::await_tracer(const Connection& connection, const control::Tracing& said) {
    // Another namespace's numbers mean nothing here; the look each second finds such a one.
    if (connection.pid == static_cast<pid_t>(said.sender_pid)) {
        const pid_t process = process_of_thread(static_cast<pid_t>(said.pid));
        serve_waiting(process);
        parts_.gatekeeper.hold_for_tracer(process, connection.pid);
    }
    const control::Go go;
    send_with_fds(connection.socket.get(), &go, sizeof go, {}, 0);
}

void Doorkeeper::serve_waiting(pid_t pid) {
    for (Connection& connection : connections_) {
        if (connection.pid == pid && connection.mapping != nullptr) {
            if (!serve(connection)) {
                // It stays in the list, which somebody walks, until its end is noticed there.
                connection.mapping = nullptr;
            }
            return;
        }
    }
}

bool Doorkeeper::arm(Connection& connection, const control::Armed& armed, std::vector<Fd> events) {
    if (connection.mapping == nullptr) {
        return false;
    }
    std::erase_if(events, [](const Fd& event) { return !is_perf_event(event.get()); });
    parts_.gatekeeper.add({connection.pid, connection.pid == root_ && root_waits_},
                          connection.mapping, std::move(events));
    joined_.insert_or_assign(connection.pid, connection.mapping);
    parts_.arrivals.add(Joined{std::move(connection.identity), connection.ticket,
                               std::exchange(connection.mapping, nullptr),
                               std::move(connection.pidfd), armed});
    return false;  // the conversation is over
}

void Doorkeeper::arm_thread(const Connection& connection, const control::ArmThread& said,
                            std::vector<Fd> events) {
    serve_waiting(connection.pid);
    if (events.size() == 1 && is_perf_event(events[0].get())) {
        const bool same_namespace = connection.pid == static_cast<pid_t>(said.pid);
        parts_.gatekeeper.add_event(connection.pid, std::move(events[0]),
                                    same_namespace ? static_cast<pid_t>(said.tid) : 0);
    } else {
        ++threads_without_event_;
    }
    const control::Go go;
    send_with_fds(connection.socket.get(), &go, sizeof go, {}, 0);
}

}  // namespace sample::collector
