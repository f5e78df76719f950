#include "sampler/collector/joining/welcome.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

namespace sample::collector {
namespace {

/// Who was greeted and never joined is forgotten at some time.
constexpr std::size_t kMostGreetings = 1024;

/// The sampling thread's way to the others is /proc.
std::string describe_refusal(control::Source source, int value) {
    return source == control::Source::thread && value == ENOENT
               ? "there is no /proc of its pid namespace"
               : std::generic_category().message(value);
}

std::string describe_refusals(const control::Armed& armed) {
    std::string text;
    for (std::size_t i = 0; i < armed.refused_errno.size(); ++i) {
        if (const int refusal = armed.refused_errno[i]; refusal != 0) {
            text += std::string{text.empty() ? "" : ", "} + std::string{control::kSources[i].name} +
                    " was refused (" + describe_refusal(static_cast<control::Source>(i), refusal) +
                    ")";
        }
    }
    return text;
}

}  // namespace

void Welcome::take_arrivals() {
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

void Welcome::greet(Greeted& greeted) {
    unprofiled_.has_run(greeted.pid);
    list_unprofiled(UnprofiledPrograms::Heard::up_to_a_moment_ago);
    Greeting greeting;
    greeting.ticket = greeted.ticket;
    if (greeted.forked) {
        if (ProfiledProcess* parent = processes_.find(greeted.parent)) {
            greeting.parent = {parent->identity().executable, parent->identity().command_line};
            greeting.inherited =
                parent->account().addresses().for_child(std::move(greeted.at_fork));
        }
    }
    const std::uint64_t carried =
        processes_.replace(greeted.pid, greeted.cpu_ns, [this] { arrivals_.done(); });
    // Now: it may be gone before it has joined, and what has joined accounts for itself.
    greeting.carried_cpu_ns = clocks_.greeted(greeted.pid, greeted.parent, carried);
    greetings_.push_back(std::move(greeting));
    if (greetings_.size() > kMostGreetings) {
        greetings_.pop_front();
    }
}

void Welcome::join(Joined joined) {
    ProcessIdentity& identity = joined.identity;
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
    const std::string refusals = describe_refusals(joined.armed);
    // Nothing was tried: what the program says is all that is wanted.
    const bool is_off = joined.armed.source == control::Source::none && refusals.empty();
    identity.source = is_off ? trace::kSourceOff : control::describe(joined.armed.source).name;
    if (!refusals.empty()) {
        identity.source_reason += (identity.source_reason.empty() ? "" : "; ") + refusals;
    }
    if (joined.armed.waits_errno != 0) {
        recorder_.add_note("where " + identity.executable + " waits is not known: " +
                           describe_refusal(control::Source::thread, joined.armed.waits_errno));
    }
    if (joined.armed.kernel_excluded != 0) {
        notes_.kernel_excluded();
    }
    processes_.add(std::move(identity), std::move(joined.mapping), std::move(joined.pidfd));
}

void Welcome::list_unprofiled(UnprofiledPrograms::Heard heard) {
    for (const trace::UnprofiledProgram& program : unprofiled_.settle(monotonic_ns(), heard)) {
        const auto pid = static_cast<pid_t>(program.pid);
        processes_.leave(pid);
        if (recorder_.has_begun()) {
            recorder_.sink().record(program);
        } else if (pid == processes_.root()) {
            why_root_is_not_ = program.reason;
        }
    }
}

}  // namespace sample::collector
