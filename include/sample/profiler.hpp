// sample/profiler.h for C++17: whom to profile as an object, a session that closes with its scope,
// and the data as a string or, by sample/profiling_info.hpp, as a callgraph. docs/profiler-api.md.
//
//     sample::profiler::Profiler self;
//     self.on_new_data([](const sample::profiler::Data& data) { … deserialize(data.json) … });
//     {
//         const sample::profiler::Sampling sampling{self, 10000};
//         work();
//     }
//     self.request_data();
//
// Without libsample.so each call does nothing and says Result::no_agent. Nothing here throws but
// std::bad_alloc; what a callback throws passes through request_data(). A Profiler is one thread's
// at a time.
#ifndef SAMPLE_PROFILER_HPP
#define SAMPLE_PROFILER_HPP

#include "sample/profiler.h"
#include "sample/profiling_info.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#pragma GCC system_header

namespace sample::profiler {

/// What a call came to; the meanings are enum sample_profiling_result's.
enum class Result : int {
    ok = SAMPLE_PROFILING_OK,
    no_agent = SAMPLE_PROFILING_NO_AGENT,
    no_session = SAMPLE_PROFILING_NO_SESSION,
    bad_frequency = SAMPLE_PROFILING_BAD_FREQUENCY,
    not_owner = SAMPLE_PROFILING_NOT_OWNER,
    ambiguous = SAMPLE_PROFILING_AMBIGUOUS,
    timed_out = SAMPLE_PROFILING_TIMED_OUT,
    refused = SAMPLE_PROFILING_REFUSED,
    not_open = SAMPLE_PROFILING_NOT_OPEN,
    failed = SAMPLE_PROFILING_FAILED,
    no_library = SAMPLE_PROFILING_NO_LIBRARY,
    signal_in_use = SAMPLE_PROFILING_SIGNAL_IN_USE,
    privileged = SAMPLE_PROFILING_PRIVILEGED,
};

[[nodiscard]] inline const char* text(Result result) noexcept {
    return sample_profiling_text(static_cast<int>(result));
}

/// sample_agent_load() of sample/profiler.h.
inline Result load_agent(const char* path = nullptr) noexcept {
    return static_cast<Result>(sample_agent_load(path));
}

using State = sample_profiling_state;

/// What a session has recorded so far, and whom it was asked for.
struct Data {
    std::string json;
    std::int32_t pid = 0;
    std::string name;
};

/// The session of the calling process, or of another one: see sample/profiler.h for each call.
class Profiler {
public:
    Profiler() noexcept = default;  ///< Of the calling process.
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;
    Profiler(Profiler&& other) noexcept
        : handle_{std::exchange(other.handle_, {})}, on_data_{std::move(other.on_data_)} {}
    Profiler& operator=(Profiler&& other) noexcept {
        if (this != &other) {
            leave();
            handle_ = std::exchange(other.handle_, {});
            on_data_ = std::move(other.on_data_);
        }
        return *this;
    }
    /// Closes the session, if it is open.
    ~Profiler() { leave(); }

    /// From now on it is of the session that records that process; else of the own process.
    Result find(std::int32_t pid) noexcept {
        leave();
        return made(sample_profiling_find_process(&handle_, pid));
    }
    Result find(const std::string& name) noexcept {
        leave();
        return made(sample_profiling_find_name(&handle_, name.c_str()));
    }

    Result start(std::uint32_t frequency_hz = SAMPLE_PROFILING_DEFAULT_HZ) noexcept {
        // 0 is no wish for the default here.
        return frequency_hz == 0 ? set_frequency(0)
                                 : made(sample_profiling_start(&handle_, frequency_hz));
    }
    Result stop() noexcept { return made(sample_profiling_stop(&handle_)); }
    Result pause() noexcept { return made(sample_profiling_pause(&handle_)); }
    Result resume() noexcept { return made(sample_profiling_resume(&handle_)); }
    Result set_frequency(std::uint32_t frequency_hz) noexcept {
        return made(sample_profiling_set_frequency(&handle_, frequency_hz));
    }
    Result status(State& state) noexcept { return made(sample_profiling_status(&handle_, &state)); }

    Result open() noexcept { return made(sample_profiling_open(&handle_)); }
    Result close() noexcept { return made(sample_profiling_close(&handle_)); }
    [[nodiscard]] bool is_open() const noexcept { return handle_.token[0] != '\0'; }
    [[nodiscard]] bool is_owner() const noexcept { return handle_.is_owner != 0; }

    /// What is called by request_data(), in its thread.
    void on_new_data(std::function<void(const Data&)> callback) { on_data_ = std::move(callback); }
    Result request_data() {
        Data data;
        const Result result = request_data(data);
        if (result == Result::ok && on_data_) {
            on_data_(data);
        }
        return result;
    }
    /// Into `data` instead.
    Result request_data(Data& data) {
        return made(sample_profiling_request_data(
            &handle_,
            [](void* context, const sample_profiling_data* got) {
                auto& into = *static_cast<Data*>(context);
                into.json.assign(got->json, got->bytes);
                into.pid = got->pid;
                into.name = got->name;
            },
            &data));
    }

    /// The process that it was found by; 0: the calling one.
    [[nodiscard]] std::int32_t pid() const noexcept { return handle_.pid; }
    /// Why the session has refused.
    [[nodiscard]] const char* problem() const noexcept { return handle_.problem; }
    /// How long the session may be silent; 0: the default.
    void set_timeout_ms(std::uint32_t timeout_ms) noexcept { handle_.timeout_ms = timeout_ms; }

private:
    static Result made(int result) noexcept { return static_cast<Result>(result); }
    void leave() noexcept {
        if (is_open()) {
            (void)close();
        }
    }

    sample_profiling handle_{};
    std::function<void(const Data&)> on_data_;
};

/// Samples while it lives, and then no more.
class Sampling {
public:
    explicit Sampling(Profiler& profiler,
                      std::uint32_t frequency_hz = SAMPLE_PROFILING_DEFAULT_HZ) noexcept
        : profiler_{profiler}, result_{profiler.start(frequency_hz)} {}
    Sampling(const Sampling&) = delete;
    Sampling& operator=(const Sampling&) = delete;
    ~Sampling() {
        if (result_ == Result::ok || result_ == Result::not_owner) {
            (void)profiler_.stop();
        }
    }
    /// What the start came to.
    [[nodiscard]] Result result() const noexcept { return result_; }

private:
    Profiler& profiler_;
    Result result_;
};

}  // namespace sample::profiler

#endif
