// How a process joins a session: who may, which source it is to try, what it has opened.
#include "sampler/collector/messages.h"
#include "sampler/collector/proc_files.h"
#include "sampler/collector/session.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace sample::collector {
namespace {

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

std::string errno_text(int value) {
    return std::generic_category().message(value);
}

const char* source_name(control::Source source) {
    switch (source) {
        case control::Source::sigtrap:
            return "sigtrap";
        case control::Source::perf:
            return "perf";
        case control::Source::thread:
            return "thread";
        case control::Source::timer:
            return "timer";
        case control::Source::none:
            break;
    }
    return "none";
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

std::string describe_refusals(const control::Armed& armed) {
    std::string text;
    for (std::size_t i = 0; i < armed.refused_errno.size(); ++i) {
        if (const int refusal = armed.refused_errno[i]; refusal != 0) {
            text += std::string{text.empty() ? "" : ", "} +
                    source_name(static_cast<control::Source>(i)) + " was refused (" +
                    errno_text(refusal) + ")";
        }
    }
    return text;
}

}  // namespace

void Session::accept_connections() {
    for (;;) {
        Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (!socket.is_open()) {
            return;
        }
        ucred peer{};
        socklen_t size = sizeof peer;
        ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
        if (peer.uid == ::geteuid() || ::geteuid() == 0) {
            connections_.push_back({std::move(socket), peer.pid, {}, {}, {}});
            // It has spoken already, mostly: an exec waits for us.
            if (!serve(connections_.back())) {
                connections_.pop_back();
            }
        }
    }
}

bool Session::serve(Connection& connection) {
    pollfd ready{connection.socket.get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) {
        return true;
    }
    auto received = receive(connection.socket.get());
    if (!received) {
        return false;
    }
    control::Hello hello;
    if (parse(*received, control::MessageKind::hello, hello)) {
        return hello.version == control::kProtocolVersion && welcome(connection, hello);
    }
    control::Armed armed;
    if (parse(*received, control::MessageKind::armed, armed)) {
        return arm(connection, armed, std::move(received->fds));
    }
    control::Unprofiled unprofiled;
    if (parse(*received, control::MessageKind::unprofiled, unprofiled)) {
        unprofiled_.announced(unprofiled, connection.pid, monotonic_ns());
        return false;
    }
    control::ArmThread arm_thread;
    if (parse(*received, control::MessageKind::arm_thread, arm_thread)) {
        serve_waiting(connection.pid);
        if (received->fds.size() == 1) {
            const bool same_namespace = connection.pid == static_cast<pid_t>(arm_thread.pid);
            gatekeeper_->add_event(connection.pid, std::move(received->fds[0]),
                                   same_namespace ? static_cast<pid_t>(arm_thread.tid) : 0);
        } else {
            ++threads_without_event_;
        }
        const control::Go go;
        send_with_fds(connection.socket.get(), &go, sizeof go, {}, 0);
    }
    return false;
}

std::vector<control::Source> Session::sources_for(pid_t pid, std::string& reason) {
    using control::Source;
    if (options_.source != Source::none) {
        return {options_.source};
    }
    if (is_traced(pid)) {
        reason = "a debugger or tracer is attached, and would stop at each SIGTRAP";
        return without_sigtrap(options_.event);
    }
    if (programs_.is_go(pid)) {
        reason = "a Go program's runtime treats SIGTRAP as fatal";
        return without_sigtrap(options_.event);
    }
    std::vector<Source> sources = without_sigtrap(options_.event);
    sources.insert(sources.begin(), Source::sigtrap);
    return sources;
}

control::Welcome Session::answer_to(Connection& connection) {
    control::Welcome answer;
    answer.accepted = 1;
    answer.collector_pid =
        connection.identity.same_pid_namespace ? static_cast<std::uint32_t>(::getpid()) : 0;
    answer.event_type = options_.event.type;
    answer.event_config = options_.event.config;
    answer.period = options_.period();
    answer.observes_waits = options_.clock == trace::Clock::wall ? 1 : 0;
    answer.children = options_.children ? 1 : 0;
    copy_text(answer.session_name, name_);
    const auto sources = sources_for(connection.pid, connection.identity.source_reason);
    std::copy(sources.begin(), sources.end(), answer.sources.begin());
    return answer;
}

bool Session::welcome(Connection& connection, const control::Hello& hello) {
    if (connection.pid == 0) {
        connection.pid = static_cast<pid_t>(hello.pid);
    }
    if (recorder_.failure() || (!options_.children && connection.pid != root_)) {
        send_refusal(connection.socket, "");
        return false;
    }
    const bool is_root = connection.pid == root_;
    connection.identity.pid = connection.pid;
    connection.identity.same_pid_namespace = connection.pid == static_cast<pid_t>(hello.pid);
    connection.identity.parent = connection.identity.same_pid_namespace
                                     ? static_cast<pid_t>(hello.parent_pid)
                                     : parent_of(connection.pid);
    // The image before this one need not have waited for us.
    serve_waiting(connection.pid);
    unprofiled_.has_run(connection.pid);
    list_unprofiled();
    const auto replaced = std::find_if(processes_.begin(), processes_.end(), [&](const Live& live) {
        return live.process->pid() == connection.pid;
    });
    if (replaced != processes_.end()) {
        const std::uint64_t said = replaced->process->said_cpu_ns();
        connection.identity.carried_cpu_ns =
            said != 0 && !replaced->unprofiled ? said : process_cpu_ns(connection.pid).value_or(0);
    }
    auto mapping = spare_area_.take(clock_.ticks_per_ns(), is_root && root_waits_);
    if (!mapping) {
        send_refusal(connection.socket, mapping.error().message());
        return false;
    }
    connection.mapping = *mapping;
    connection.identity.is_time = options_.event.is_clock;
    if (!options_.event.is_clock) {
        connection.mapping->area().header.gap_ticks = capture::kCountsEvents;
        connection.mapping->area().header.kernel_count = kernel_count_of(options_.event);
    }
    if (is_root) {
        root_mapping_ = connection.mapping;
    }
    const control::Welcome answer = answer_to(connection);
    // Once it has the answer it may be gone at any time.
    connection.pidfd = Fd{static_cast<int>(::syscall(SYS_pidfd_open, connection.pid, 0))};
    describe(connection, hello);
    if (replaced != processes_.end()) {
        replaced->process->take_names();  // the new image may write to the same files
    }
    const bool sent = send_with_fds(connection.socket.get(), &answer, sizeof answer,
                                    {connection.mapping->fd(), gatekeeper_->page_fd()}, 2);
    // Not before: the new image waits for the answer.
    if (replaced != processes_.end()) {
        end_process(*replaced, trace::EndKind::replaced, 0);
        processes_.erase(replaced);
    }
    return sent;
}

void Session::describe(Connection& connection, const control::Hello& hello) const {
    if (hello.forked != 0) {
        for (const Live& live : processes_) {
            if (live.process->pid() == connection.identity.parent) {
                connection.identity.executable = live.process->identity().executable;
                connection.identity.command_line = live.process->identity().command_line;
                connection.identity.inherited =
                    live.process->code_for_child(static_cast<pid_t>(hello.parent_pid));
                return;
            }
        }
    }
    connection.identity.executable = executable_of(connection.pid);
    connection.identity.command_line = command_line_of(connection.pid);
}

void Session::serve_waiting(pid_t pid) {
    for (Connection& connection : connections_) {
        if (connection.pid == pid && connection.mapping != nullptr) {
            serve(connection);
            // It stays in the list, which somebody walks, until its end is noticed there.
            connection.mapping = nullptr;
            return;
        }
    }
}

bool Session::arm(Connection& connection, const control::Armed& armed, std::vector<Fd> events) {
    if (connection.mapping == nullptr) {
        return false;
    }
    Live live;
    live.pidfd = std::move(connection.pidfd);
    live.mapping = connection.mapping;
    connection.identity.source = source_name(armed.source);
    const std::string refusals = describe_refusals(armed);
    if (!refusals.empty()) {
        std::string& reason = connection.identity.source_reason;
        reason += (reason.empty() ? "" : "; ") + refusals;
    }
    live.process = std::make_unique<ProfiledProcess>(connection.identity, connection.mapping,
                                                     recorder_, clock_);
    live.process->begin();
    kernel_excluded_ = kernel_excluded_ || armed.kernel_excluded != 0;
    anyone_profiled_ = anyone_profiled_ || armed.source != control::Source::none;
    gatekeeper_->add(connection.pid, connection.mapping, std::move(events));
    processes_.push_back(std::move(live));
    return false;  // the conversation is over
}

}  // namespace sample::collector
