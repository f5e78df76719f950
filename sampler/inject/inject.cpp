#include "sampler/inject/inject.h"

#include "core/fd.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/inject/held_thread.h"
#include "sampler/inject/libc_places.h"
#include "sampler/inject/remote_code.h"
#include "sampler/inject/safe_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sample::inject {
namespace {

using namespace std::chrono_literals;
using Clock = HeldThread::Clock;

constexpr auto kMostToFindAPlace = 5s;
constexpr auto kPauseBetweenLooks = 2ms;
constexpr auto kMostToCall = 10s;
constexpr auto kPauseBetweenCalls = 50us;
constexpr std::size_t kMostThreadsALook = 16;
/// For the loader, and a collector that has much to do.
constexpr auto kMostToBegin = 25s;

Unexpected refuse(const std::string& why) {
    return unexpected(ErrorCode::unsupported, why);
}

/// The memory of a process. Not open: it may not be looked at.
Fd open_memory(pid_t pid) {
    return Fd{::open(collector::living_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC)};
}

template <class T>
bool write_at(const Fd& memory, std::uint64_t address, const T* from, std::size_t bytes) {
    return ::pwrite(memory.get(), from, bytes, static_cast<off_t>(address)) ==
           static_cast<ssize_t>(bytes);
}

template <class T>
std::optional<T> read_at(const Fd& memory, std::uint64_t address) {
    T value;
    return ::pread(memory.get(), &value, sizeof value, static_cast<off_t>(address)) == sizeof value
               ? std::optional{value}
               : std::nullopt;
}

std::string text_at(const Fd& memory, std::uint64_t address) {
    std::array<char, 512> text{};
    const ssize_t got = address == 0 ? 0
                                     : ::pread(memory.get(), text.data(), text.size() - 1,
                                               static_cast<off_t>(address));
    return got > 0 ? std::string{text.data()} : "";
}

/// Threads that may be stopped for a call: those that wait first, as they stand still anyway.
std::vector<pid_t> threads_to_try(pid_t pid) {
    std::vector<std::pair<bool, pid_t>> threads;
    for (const pid_t tid : collector::threads_of(pid)) {
        // "running", or the number of the call that it waits in and its arguments, in base 16.
        const std::string call =
            read_small_file(collector::proc_path(pid, "task/" + std::to_string(tid) + "/syscall"));
        char* rest = nullptr;
        const long number = std::strtol(call.c_str(), &rest, 10);
        std::strtoull(rest, &rest, 16);
        const bool is_running = call.starts_with("running");
        if (is_running ||
            (number >= 0 && waits_for_no_lock(number, std::strtoull(rest, nullptr, 16)))) {
            threads.emplace_back(is_running, tid);
        }
    }
    std::sort(threads.begin(), threads.end());
    threads.resize(std::min(threads.size(), kMostThreadsALook));
    std::vector<pid_t> order;
    order.reserve(threads.size());
    for (const auto& [is_running, tid] : threads) {
        order.push_back(tid);
    }
    return order;
}

class Injection {
public:
    Injection(pid_t pid, LibcPlaces libc)
        : pid_{pid},
          libc_{libc},
          memory_{open_memory(pid)},
          calls_{libc_.for_calls()},
          places_{pid, memory_.get(), calls_.system_call} {}

    Result<Injected> run(const std::string& library, const std::string& session) {
        RemoteData data;
        data.create_thread = libc_.function("pthread_create");
        data.detach_thread = libc_.function("pthread_detach");
        data.open_library = libc_.function("dlopen");
        data.error_text = libc_.function("dlerror");
        data.unmap = libc_.function("munmap");
        data.errno_place = libc_.function("__errno_location");
        for (const std::uint64_t function :
             {data.create_thread, data.detach_thread, data.open_library, data.error_text,
              data.unmap, data.errno_place, calls_.system_call, calls_.signal_return}) {
            if (function == 0) {
                return refuse("this libc lacks a function that is needed");
            }
        }
        session.copy(data.invitation.session.data(), data.invitation.session.size() - 1);
        library.copy(data.library.data(), data.library.size() - 1);
        SAMPLE_CHECK(make_thread(data));
        SAMPLE_CHECK(await_agent());
        return injected_;
    }

private:
    /// A thread at a safe place.
    Result<HeldThread> hold_thread() {
        const auto deadline = Clock::now() + kMostToFindAPlace;
        while (Clock::now() < deadline) {
            for (const pid_t tid : threads_to_try(pid_)) {
                auto held = HeldThread::seize(pid_, tid);
                if (!held && held.error().code == ErrorCode::permission) {
                    return refuse(held.error().message());
                }
                if (held && places_.is_safe(*held)) {
                    return held;
                }
                injected_.stopped += held ? held->stood_still() : std::chrono::nanoseconds{0};
            }
            if (collector::status_of(pid_).empty()) {
                return refuse("it has ended");
            }
            std::this_thread::sleep_for(kPauseBetweenLooks);
        }
        return refuse(
            "no thread of it came to a place where libc may be called for it, though it was "
            "watched for 5 s: leave --inject out, or try again");
    }

    Result<void> make_thread(RemoteData& data) {
        SAMPLE_TRY(held, hold_thread());
        SAMPLE_TRY(region, held.call(calls_, SYS_mmap,
                                     {0, kRegionBytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0}));
        if (region < 0) {
            return refuse("it has no memory left for us");
        }
        const auto start = static_cast<std::uint64_t>(region);
        const auto unmap = [&] {
            return static_cast<bool>(
                held.call(calls_, SYS_munmap, {start, kRegionBytes, 0, 0, 0, 0}));
        };
        data.region = start;
        data.region_bytes = kRegionBytes;
        data.signal_mask = held.signal_mask();
        const user_regs_struct resumed = held.to_start_over();
        data.flags = resumed.eflags;
        data.resume_stack = resumed.rsp;
        data.resume_pc = resumed.rip;
        data_ = start + kDataOffset;
        fmt::format_to_n(data.thread_name.data(), data.thread_name.size() - 1, "{}{:x}",
                         control::kInvitedThread, data_ + offsetof(RemoteData, invitation));
        const auto code = remote_code();
        if (!write_at(memory_, start, code.data(), code.size()) ||
            !write_at(memory_, data_, &data, sizeof data)) {
            unmap();
            return refuse("its memory cannot be written to");
        }
        SAMPLE_TRY(executable, held.call(calls_, SYS_mprotect,
                                         {start, kPageBytes, PROT_READ | PROT_EXEC, 0, 0, 0}));
        if (executable != 0) {
            unmap();
            return refuse(
                "it may make no memory executable (SELinux, systemd's "
                "MemoryDenyWriteExecute)");
        }
        constexpr std::uint64_t kNoSurprises = 0x202;  // interrupts on, all else off
        SAMPLE_CHECK(held.run(start + call_offset(), start + kRegionBytes, kNoSurprises));
        SAMPLE_CHECK(await_call());
        injected_.stopped += held.stood_still();
        const auto refusal = read_at<std::uint64_t>(memory_, data_ + offsetof(RemoteData, refusal));
        if (refusal.value_or(EIO) == 0) {
            return {};
        }
        return refuse(
            "it can make no thread: " +
            std::error_code{static_cast<int>(refusal.value_or(EIO)), std::generic_category()}
                .message());
    }

    Result<void> await_call() {
        const auto deadline = Clock::now() + kMostToCall;
        while (Clock::now() < deadline) {
            const auto now =
                read_at<std::uint64_t>(memory_, data_ + offsetof(RemoteData, is_called));
            if (!now) {
                return refuse("it has ended");
            }
            if (*now != 0) {
                return {};
            }
            std::this_thread::sleep_for(kPauseBetweenCalls);
        }
        return refuse("it can make no thread: that takes too long");
    }

    Result<void> await_agent() {
        const auto deadline = Clock::now() + kMostToBegin;
        auto state = RemoteState::at_work;
        while (state == RemoteState::at_work) {
            const auto now = read_at<std::uint64_t>(memory_, data_ + offsetof(RemoteData, state));
            if (!now) {
                return refuse("it has ended");
            }
            if (Clock::now() > deadline) {
                return refuse("the loader, or the session, did not answer");
            }
            state = static_cast<RemoteState>(*now);
            std::this_thread::sleep_for(1ms);
        }
        const std::string problem = problem_of(state);
        const std::uint64_t let_go = 1;
        write_at(memory_, data_ + offsetof(RemoteData, let_go), &let_go, sizeof let_go);
        return problem.empty() ? Result<void>{} : refuse(problem);
    }

    /// Of the thread made; empty: it has joined.
    [[nodiscard]] std::string problem_of(RemoteState state) const {
        if (state == RemoteState::no_table) {
            return "its thread got no table of descriptors of its own";
        }
        if (state == RemoteState::not_loaded) {
            const auto text =
                read_at<std::uint64_t>(memory_, data_ + offsetof(RemoteData, problem));
            return "the loader refused it: " + text_at(memory_, text.value_or(0));
        }
        const auto answer =
            read_at<control::Invitation>(memory_, data_ + offsetof(RemoteData, invitation));
        if (!answer) {
            return "it has ended";
        }
        return answer->is_answered == 0 ? "another thread of it has loaded the agent"
                                        : text_at(memory_, answer->problem);
    }

    pid_t pid_;
    LibcPlaces libc_;
    Fd memory_;
    CallPlaces calls_;
    SafePlaces places_;
    std::uint64_t data_ = 0;
    Injected injected_;
};

}  // namespace

Result<Injected> inject_agent(pid_t pid, const std::string& library, const std::string& session) {
    SAMPLE_TRY(libc, LibcPlaces::of(pid));
    Result<Injected> result = unexpected(ErrorCode::system, "");
    // Whatever happens, the kernel lets go of what a thread has traced when that ends.
    std::thread{[&] {
        // The thread that stands still should not wait for us among others that are busy, nor until
        // a pause of ours, which are shorter than what timers may be late, is over.
        const collector::InFront in_front;
        ::prctl(PR_SET_TIMERSLACK, 1);
        result = Injection{pid, libc}.run(library, session);
    }}.join();
    return result ? std::move(result)
                  : refuse("the agent could not be brought into the process: " +
                           result.error().message());
}

}  // namespace sample::inject
