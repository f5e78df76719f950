// What the storm's operations share: chance from a seed, work, checks, children, images.
//
// An operation is a function of its seed: what it returns depends on nothing else, neither on time
// nor on what else runs. It checks itself by require(). It leaves the process as it found it; what
// cannot be undone it does in a child. Nothing here has a time-out: who waits for what never comes
// hangs, and is found hanging.
#pragma once

#include "tests/targets/work.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace storm {

/// SplitMix64: a seed of its own for each purpose. Source: Steele, Lea, Flood, OOPSLA 2014.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t purpose = 0) {
    std::uint64_t value = seed + 0x9e3779b97f4a7c15U * (purpose + 1);
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_{seed} {}
    std::uint64_t next() { return state_ = mix(state_); }
    /// 0 … sides - 1.
    std::uint64_t below(std::uint64_t sides) { return next() % sides; }
    template <class Things>
    const auto& one_of(const Things& things) {
        return things[below(std::size(things))];
    }

private:
    std::uint64_t state_;
};

/// Pure CPU: `units` of about half a microsecond, some 200 by default. No system call, no library,
/// little stack.
TARGET_KEEP inline std::uint64_t work(std::uint64_t seed, std::uint64_t units = 0) {
    std::uint64_t state = seed | 1U;
    for (std::uint64_t unit = units != 0 ? units : 100 + seed % 200; unit > 0; --unit) {
        state = targets::work_unit(state);
    }
    return state;
}

/// The exit status that a child with this seed has to end with: 1 … 100.
[[nodiscard]] constexpr int code_of(std::uint64_t seed) {
    return static_cast<int>(mix(seed, 1) % 100 + 1);
}

/// Unless `held`: says so on stderr, with errno, and ends the process with 120. Any process, any
/// thread; async-signal-safe.
void require(bool held, const char* what);

/// How deep images may still run operations of their own.
[[nodiscard]] int depth();

/// Other threads are there: a child that libc did not prepare may not allocate.
[[nodiscard]] bool is_crowded();

[[nodiscard]] const char* self();

/// `name` in the folder of this program.
struct Beside {
    char path[512];
    explicit Beside(const char* name);
};

/// Waits for this child, whatever way it was made; returns its status.
int wait_for(pid_t child);
void require_exit(pid_t child, int code);
void require_signal(pid_t child, int signal);

/// A child by fork(3) that does `body` and ends with what that returns, or with code_of(seed).
template <class Body>
[[nodiscard]] pid_t start_child(std::uint64_t seed, Body body) {
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            _exit(code_of(seed));
        } else {
            _exit(body());
        }
    }
    return child;
}

/// `body` in a child, and waits for it.
template <class Body>
void in_child(std::uint64_t seed, Body body) {
    require_exit(start_child(seed, body), code_of(seed));
}

/// The words that run this program again, to end with code_of(seed). All memory is its own: they
/// are made before a fork.
struct Image {
    char seed_text[24];
    char depth_text[12];
    char* argv[5];
    int code;

    /// Plain: the image does nothing but work. Otherwise it may do operations.
    explicit Image(std::uint64_t seed, bool plain = false);
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
    ~Image() = default;
};

/// One thread of a group that runs `body` each with an own seed; returns the sum of the results.
std::uint64_t in_threads(std::uint64_t seed, unsigned count, std::uint64_t (*body)(std::uint64_t));

/// What images do whose second word is not "image" but "chain", "signals", "memory" or
/// "locked". Each is beside the operation that starts it.
[[nodiscard]] int run_chain(char** argv);
[[nodiscard]] int run_signals(char** argv);
[[nodiscard]] int run_memory(char** argv);
[[nodiscard]] int run_locked(char** argv);

struct Operation {
    const char* name;
    std::uint64_t (*run)(std::uint64_t seed);
    /// Several may run at once, in several threads.
    bool anywhere;
};

inline constexpr bool kAnywhere = true;
inline constexpr bool kAlone = false;

using Operations = std::span<const Operation>;

[[nodiscard]] Operations thread_operations();
[[nodiscard]] Operations fork_operations();
[[nodiscard]] Operations process_operations();
[[nodiscard]] Operations exec_operations();
[[nodiscard]] Operations signal_operations();
[[nodiscard]] Operations fault_operations();
[[nodiscard]] Operations stack_operations();
[[nodiscard]] Operations library_operations();
[[nodiscard]] Operations limit_operations();
[[nodiscard]] Operations confinement_operations();

}  // namespace storm
