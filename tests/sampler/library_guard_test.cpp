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

void unload() {
    close_library_guard(Unloader::this_thread);
    open_library_guard();
}

TEST(LibraryGuard, lets_an_unload_wait_for_a_reader) {
    Insider reader;
    EXPECT_TRUE(reader.reads());
    EXPECT_TRUE(waits_for(reader, unload));
}

TEST(LibraryGuard, refuses_readers_during_an_unload_and_waits_for_none_of_them) {
    close_library_guard(Unloader::this_thread);
    Insider refused;
    EXPECT_FALSE(refused.reads());
    unload();  // would never return
    refused.leave();
    open_library_guard();
    EXPECT_TRUE(Insider{}.reads());
}

TEST(LibraryGuard, tells_when_the_refused_are_out_too) {
    close_library_guard(Unloader::this_thread);
    Insider refused;
    EXPECT_TRUE(waits_for(refused, wait_until_all_are_out));
    open_library_guard();
    EXPECT_TRUE(Insider{}.reads());
}

TEST(LibraryGuard, lets_the_thread_that_unloads_read_on_while_no_other_does) {
    close_library_guard(Unloader::this_thread);
    EXPECT_FALSE(was_read_in_unload());
    EXPECT_TRUE(LibraryReader{}.allowed());
    EXPECT_TRUE(was_read_in_unload());
    EXPECT_FALSE(was_read_in_unload());
    close_library_guard(Unloader::anybody);
    EXPECT_FALSE(LibraryReader{}.allowed());
    reset_library_guard();  // in a child that is forked meanwhile
    EXPECT_TRUE(LibraryReader{}.allowed());
    open_library_guard();
    EXPECT_TRUE(Insider{}.reads());
}

}  // namespace
}  // namespace sample::capture
