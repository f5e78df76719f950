// How the session's loop takes the processes over that the doorkeeper has let in.
#include "sampler/collector/process_end.h"
#include "sampler/collector/session.h"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

namespace sample::collector {
namespace {

/// Who was greeted and never joined is forgotten at some time.
constexpr std::size_t kMostGreetings = 1024;

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

void Session::take_arrivals() {
    for (Arrival& arrival : arrivals_.take()) {
        if (auto* greeted = std::get_if<Greeted>(&arrival)) {
            greet(*greeted);
        } else if (auto* joined = std::get_if<Joined>(&arrival)) {
            join(std::move(*joined));
        } else if (const auto* announced = std::get_if<Announced>(&arrival)) {
            unprofiled_.announced(announced->said, announced->peer, announced->time_ns);
        }
    }
    arrivals_.done();
}

void Session::greet(const Greeted& greeted) {
    unprofiled_.has_run(greeted.pid);
    list_unprofiled();
    Greeting greeting;
    greeting.ticket = greeted.ticket;
    if (greeted.forked) {
        for (const Live& live : processes_) {
            if (live.process->pid() == greeted.parent) {
                greeting.parent = {live.process->identity().executable,
                                   live.process->identity().command_line};
                greeting.inherited = live.process->code_for_child(greeted.own_parent);
            }
        }
    }
    const auto replaced = std::find_if(processes_.begin(), processes_.end(), [&](const Live& live) {
        return live.process->pid() == greeted.pid;
    });
    if (replaced == processes_.end()) {
        // Nobody.
    } else if (has_died(greeted.pid, replaced->pidfd.get())) {
        process_died(*replaced);
        processes_.erase(replaced);
    } else {
        const std::uint64_t said = replaced->process->said_cpu_ns();
        greeting.carried_cpu_ns =
            said != 0 && !replaced->unprofiled ? said : greeted.cpu_ns.value_or(0);
        replaced->process->take_names();
        // The new image waits for that alone.
        arrivals_.done();
        end_process(*replaced, trace::EndKind::replaced, 0);
        processes_.erase(replaced);
    }
    greetings_.push_back(std::move(greeting));
    if (greetings_.size() > kMostGreetings) {
        greetings_.pop_front();
    }
}

void Session::join(Joined joined) {
    ProfiledProcess::Identity& identity = joined.identity;
    const auto greeting =
        std::find_if(greetings_.begin(), greetings_.end(),
                     [&](const Greeting& each) { return each.ticket == joined.ticket; });
    if (greeting != greetings_.end()) {
        identity.carried_cpu_ns = greeting->carried_cpu_ns;
        identity.inherited = std::move(greeting->inherited);
        if (greeting->parent) {
            std::tie(identity.executable, identity.command_line) = *std::move(greeting->parent);
        }
        greetings_.erase(greeting);
    }
    identity.source = source_name(joined.armed.source);
    const std::string refusals = describe_refusals(joined.armed);
    if (!refusals.empty()) {
        identity.source_reason += (identity.source_reason.empty() ? "" : "; ") + refusals;
    }
    if (identity.pid == root_) {
        root_mapping_ = joined.mapping;
    }
    Live live;
    live.pidfd = std::move(joined.pidfd);
    live.mapping = joined.mapping;
    live.process = std::make_unique<ProfiledProcess>(std::move(identity), std::move(joined.mapping),
                                                     recorder_, clock_);
    live.process->begin();
    kernel_excluded_ = kernel_excluded_ || joined.armed.kernel_excluded != 0;
    processes_.push_back(std::move(live));
}

}  // namespace sample::collector
