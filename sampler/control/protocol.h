// What agent and collector say to each other over a SOCK_SEQPACKET unix socket when a process
// joins.
//
//   agent → Hello                who I am
//   collector → Welcome + 2 fds  the area and the session page, which sources to try; or a refusal
//   agent → Armed + perf fds     what it opened and enabled; the collector owns them
//
// The agent does not wait for the last step: it closes its socket and holds no descriptor of ours.
// Whatever it asks later, by its gate or as its next image, is answered after that.
//
// Who starts a program that cannot be profiled says Unprofiled and waits for nothing.
// A thread that needs an event of its own later says ArmThread + 1 fd and waits for Go.
// Who is about to trace another process says Tracing and waits for Go.
// Plain structs, one a datagram, both sides from the same build: `version` is checked first.
//
// Who may talk. The agent speaks to a listener of its own user or of root alone; the collector to
// its own user, or to anybody if it is root's; and it hears only what carries the session's secret,
// which nothing but the environment of the session's processes has (the kernel shows it to their
// own user).
#pragma once

#include "sampler/control/source.h"

#include <array>
#include <cstdint>

namespace sample::control {

inline constexpr std::uint32_t kProtocolVersion = 9;
/// Environment variable that says NAME:SECRET:MARK: the abstract socket's name (without the leading
/// zero byte), the secret in hexadecimal digits, and whether who joins may wait for an answer.
inline constexpr const char* kSessionVariable = "SAMPLE_SESSION";
inline constexpr std::size_t kMaxPassedFds = 65;
/// As long as the path of a socket may be. Source: unix(7).
inline constexpr std::size_t kControlPathBytes = 108;
inline constexpr char kMayWait = '1';
inline constexpr char kMustNotWait = '0';  ///< The collector has not answered of late: do not join.

/// Random, the same for all processes of a session.
using Secret = std::array<std::uint8_t, 16>;

enum class MessageKind : std::uint32_t {
    hello = 1,
    welcome,
    armed,
    go,
    arm_thread,
    unprofiled,
    tracing
};

struct Hello {
    MessageKind kind = MessageKind::hello;
    std::uint32_t version = kProtocolVersion;
    Secret secret{};
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t forked = 0;          ///< After fork; 0: a fresh image.
    std::uint32_t starts_session = 0;  ///< The collector was started by this process.
    std::uint32_t comes_late = 0;      ///< The agent was brought into a running program.
    /// Where the program lies if it was run by naming the loader, whose file the kernel takes for
    /// the program's; else 0.
    std::uint64_t run_by_loader = 0;
};

struct Welcome {
    MessageKind kind = MessageKind::welcome;
    std::uint32_t accepted = 0;
    std::uint32_t collector_pid = 0;   ///< 0: it has none in the process's pid namespace.
    std::array<Source, 3> sources{};   ///< Best first; `none` ends the list.
    std::uint32_t traces = 0;          ///< What the program says of itself is wanted, too.
    std::uint32_t children = 1;        ///< 0: only the session's first process is wanted.
    std::uint32_t observes_waits = 0;  ///< The session's clock is the wall's.
    /// perf_event_attr's type and config, for the sources sigtrap and perf.
    std::uint32_t event_type = 0;
    std::uint64_t event_config = 0;
    std::uint64_t period = 0;        ///< Nanoseconds of a clock, else occurrences of the event:
                                     ///< from one sample to the next, on average.
    std::array<char, 64> session{};  ///< What SAMPLE_SESSION must be for others to join.
    /// Where the session is controlled, as the collector names it; empty: nowhere.
    std::array<char, kControlPathBytes> control_socket{};
    std::array<char, 512> refusal{};  ///< For people; empty: silently not wanted.
};

struct Armed {
    MessageKind kind = MessageKind::armed;
    Source source = Source::none;
    std::uint32_t kernel_excluded = 0;
    /// Why a better one was refused, by source; 0 if it was not.
    std::array<std::int32_t, kSourceCount> refused_errno{};
    std::int32_t waits_errno = 0;  ///< Why waits are not observed though they should be.
};

struct ArmThread {
    MessageKind kind = MessageKind::arm_thread;
    Secret secret{};
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
};

/// Why the agent cannot be loaded into a program.
enum class NotProfiled : std::uint32_t {
    none,  ///< It can; or: a program that was announced was not started after all.
    static_program,
    privileged,  ///< Setuid or setgid.
    capabilities,
    other_machine,
    musl,
    out_of_reach,  ///< The agent's file: another root folder or mount namespace.
    valgrind,
    traced,  ///< By another process of the session.
    little_address_space,
    two_users,  ///< Started by who acts for another user or group than its own.
    no_room,    ///< For our variables: its arguments and environment are all that a kernel takes.
};

/// A program is about to be started, or was, which the collector will hear nothing from; or who was
/// welcome declines. No answer.
struct Unprofiled {
    MessageKind kind = MessageKind::unprofiled;
    NotProfiled reason = NotProfiled::none;
    Secret secret{};
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t sender_pid = 0;  ///< As its own namespace numbers it, like the others.
    std::uint64_t device = 0;      ///< Of the file that the kernel will run.
    std::uint64_t inode = 0;
    std::array<char, 512> path{};  ///< Cut to fit.
};

struct Tracing {
    MessageKind kind = MessageKind::tracing;
    Secret secret{};
    std::uint32_t sender_pid = 0;
    std::uint32_t pid = 0;  ///< Or a thread of it.
};

struct Go {
    MessageKind kind = MessageKind::go;
};

}  // namespace sample::control
