#include "sampler/capture/libraries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace sample::capture {
namespace {

/// Time enough for a thread that does not wait, as it should, to be seen.
constexpr std::chrono::milliseconds kAWhile{30};

/// A thread inside the handler until it is told to leave.
class Insider {
public:
    Insider() {
        while (!is_inside_) {
            std::this_thread::yield();
        }
    }
    ~Insider() { leave(); }
    Insider(const Insider&) = delete;
    Insider& operator=(const Insider&) = delete;
    Insider(Insider&&) = delete;
    Insider& operator=(Insider&&) = delete;

    [[nodiscard]] bool reads() const { return reads_; }
    void leave() {
        may_leave_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
    }

private:
    void run() {
        const LibraryReader reader;
        reads_ = reader.allowed();
        is_inside_ = true;
        while (!may_leave_) {
            std::this_thread::yield();
        }
    }

    std::atomic<bool> is_inside_{false};
    std::atomic<bool> may_leave_{false};
    std::atomic<bool> reads_{false};
    std::thread thread_{[this] { run(); }};
};

/// Whether `wait` waits for `insider` to leave.
template <class Wait>
bool waits_for(Insider& insider, const Wait& wait) {
    std::atomic<bool> is_over{false};
    std::thread waiting{[&] {
        wait();
        is_over = true;
    }};
    std::this_thread::sleep_for(kAWhile);
    const bool waited = !is_over;
    insider.leave();
    waiting.join();
    return waited;
}

TEST(LibraryGuard, lets_an_unload_wait_for_a_reader) {
    Insider reader;
    EXPECT_TRUE(reader.reads());
    EXPECT_TRUE(waits_for(reader, close_library_guard));
    open_library_guard();
}

TEST(LibraryGuard, refuses_readers_during_an_unload_and_waits_for_none_of_them) {
    close_library_guard();
    Insider refused;
    EXPECT_FALSE(refused.reads());
    close_library_guard();  // would never return
    refused.leave();
    open_library_guard();
    open_library_guard();
    EXPECT_TRUE(LibraryReader{}.allowed());
}

TEST(LibraryGuard, tells_when_the_refused_are_out_too) {
    close_library_guard();
    Insider refused;
    EXPECT_TRUE(waits_for(refused, wait_until_all_are_out));
    open_library_guard();
    EXPECT_TRUE(LibraryReader{}.allowed());
}

}  // namespace
}  // namespace sample::capture
