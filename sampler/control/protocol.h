// What agent and collector say to each other over a SOCK_SEQPACKET unix socket when a process
// joins.
//
//   agent → Hello                 who I am
//   collector → Welcome + 2 fds   the area and the session page, which sources to try; or a refusal
//   agent → Armed + perf fds      what it opened and enabled; the collector owns them
//
// The agent does not wait for the last step: it closes its socket and holds no descriptor of ours.
// Whatever it asks later, by its gate or as its next image, is answered after that.
//
// Who starts a program that cannot be profiled says Unprofiled and waits for nothing.
// A thread that needs an event of its own later says ArmThread + 1 fd and waits for Go.
// Plain structs, one a datagram, both sides from the same build: `version` is checked first.
#pragma once

#include <array>
#include <cstdint>

namespace sample::control {

inline constexpr std::uint32_t kProtocolVersion = 1;
/// Environment variable that carries the abstract socket name (without the leading zero byte).
inline constexpr const char* kSessionVariable = "SAMPLE_SESSION";
inline constexpr std::size_t kMaxPassedFds = 65;

enum class MessageKind : std::uint32_t { hello = 1, welcome, armed, go, arm_thread, unprofiled };

/// In the order in which they are tried.
enum class Source : std::uint32_t { none = 0, sigtrap = 1, perf = 2 };

struct Hello {
    MessageKind kind = MessageKind::hello;
    std::uint32_t version = kProtocolVersion;
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t forked = 0;          ///< After fork; 0: a fresh image.
    std::uint32_t starts_session = 0;  ///< The collector was started by this process.
};

struct Welcome {
    MessageKind kind = MessageKind::welcome;
    std::uint32_t accepted = 0;
    std::uint32_t collector_pid = 0;
    std::array<Source, 2> sources{};  ///< Best first; `none` ends the list.
    std::uint32_t children = 1;       ///< 0: only the session's first process is wanted.
    std::uint64_t period_ns = 0;
    std::array<char, 64> session_name{};
    std::array<char, 512> refusal{};  ///< For people; empty: silently not wanted.
};

struct Armed {
    MessageKind kind = MessageKind::armed;
    Source source = Source::none;
    std::uint32_t kernel_excluded = 0;
    std::int32_t sigtrap_errno = 0;  ///< Why the better source was refused; 0 if it was not.
    std::int32_t perf_errno = 0;
};

struct ArmThread {
    MessageKind kind = MessageKind::arm_thread;
    std::uint32_t pid = 0;
};

/// Why the agent cannot be loaded into a program.
enum class NotProfiled : std::uint32_t {
    none,  ///< It can; or: a program that was announced was not started after all.
    static_program,
    privileged,  ///< Setuid or setgid.
    capabilities,
    other_machine,
    musl,
};

/// A program is about to be started, or was, which the collector will hear nothing from. No answer.
struct Unprofiled {
    MessageKind kind = MessageKind::unprofiled;
    NotProfiled reason = NotProfiled::none;
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t sender_pid = 0;  ///< As its own namespace numbers it, like the others.
    std::uint64_t device = 0;      ///< Of the file that the kernel will run.
    std::uint64_t inode = 0;
    std::array<char, 512> path{};  ///< Cut to fit.
};

struct Go {
    MessageKind kind = MessageKind::go;
};

}  // namespace sample::control
