// Joins the session: talks to the collector, maps the area, opens the events, and gives every
// descriptor away.
#pragma once

#include "sampler/agent/session/session_state.h"
#include "sampler/capture/area.h"
#include "sampler/source/own_descriptors.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::agent {

enum class JoinKind { fresh_image, after_fork };

/// Joins `session`, or, where that is null, the one that the environment names (or, after a fork,
/// the parent's). Without one, and if the library was preloaded by hand, starts a collector. On
/// failure the program runs on unprofiled. Returns what a person must know, or null: of the
/// command's children nothing. After it returns the process holds no descriptor of ours. Uses
/// system calls only: safe in a forked child of a threaded program.
[[nodiscard]] const char* join_session(JoinKind kind, const char* session = nullptr) noexcept;

/// To standard error, in one line; of null, nothing. Async-signal-safe.
void say_problem(const char* problem) noexcept;

/// In a forked child, before it forgets its parent's: puts private memory where the area and the
/// threads' states were, if nothing lies there yet. A signal handler that forks may have
/// interrupted a write of what the program says, and the child goes on with it when the handler
/// returns. Uses system calls only.
void stand_in_for_area() noexcept;

/// Names a session that this process has started in its environment, for the shells that libc
/// starts past our wrappers (system, popen). Not done in our constructor, since libc's own, which
/// comes later, sets `environ`. To be called before there is a second thread. Not
/// async-signal-safe.
void publish_session() noexcept;

/// The calling thread is a new one: it gets what the session's source wants of each.
void begin_thread() noexcept;

enum class AfterTelling : std::uint8_t { go_on, await_go };
/// Sends the collector one message, and `fd` if there is one, by a connection of its own; waits
/// for Go if that is to be awaited. `most_ns`: in all. To be called with descriptors of our own.
/// Async-signal-safe.
void send_to_collector(std::span<const std::byte> message, std::uint64_t most_ns, AfterTelling then,
                       int fd = -1) noexcept;
/// The same of a struct of the protocol, which gets the session's secret; called anywhere.
template <class Message>
void tell_collector(Message& message, std::uint64_t most_ns, AfterTelling then) noexcept {
    message.secret = session_secret();
    source::with_own_descriptors([&]() noexcept {
        send_to_collector(std::as_bytes(std::span{&message, 1}), most_ns, then);
    });
}

/// While one lives, this process is about to trace `pid`, whose events the collector has stopped.
/// Async-signal-safe.
class AnnouncedTracing {
public:
    explicit AnnouncedTracing(int pid) noexcept;
    ~AnnouncedTracing();
    AnnouncedTracing(const AnnouncedTracing&) = delete;
    AnnouncedTracing& operator=(const AnnouncedTracing&) = delete;

private:
    capture::Area* area_ = nullptr;
};

}  // namespace sample::agent
