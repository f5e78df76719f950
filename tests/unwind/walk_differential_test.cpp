// Ours against libunwind, on stacks that a timer interrupts at random.
//
// The handler walks what it interrupted three ways: ours on the live stack, ours on a copy of it,
// and libunwind's unw_step. SAMPLE_DIFFERENTIAL_SAMPLES sets how many stacks are wanted (default
// 3000; a million take some minutes).
#include "tests/unwind/walk_fixture.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>

namespace sample::unwind::testing {
namespace {

constexpr std::size_t kDepth = 512;
constexpr std::size_t kKeptDifferences = 16;
constexpr std::size_t kCopyBytes = std::size_t{64} << 10;

using Frames = std::array<std::uint64_t, kDepth>;

struct Difference {
    Frames ours;
    Frames theirs;
    std::size_t ours_depth;
    std::size_t theirs_depth;
};

/// Written by the handler, read by the test when the timer is off.
struct Samples {
    Tables* tables = nullptr;
    StackBounds bounds;
    std::array<FrameAddress, kDepth> live;
    std::array<FrameAddress, kDepth> copied;
    std::array<std::byte, kCopyBytes> stack;
    Difference now;
    std::atomic<std::uint64_t> taken{0};
    std::uint64_t equal = 0;
    std::uint64_t at_root = 0;
    std::uint64_t copies_equal = 0;
    std::uint64_t copies = 0;
    std::uint64_t probes = 0;
    std::uint64_t restored_all = 0;
    std::uint64_t frames = 0;
    std::array<Difference, kKeptDifferences> differences;
    std::size_t different = 0;
};
Samples samples;

std::size_t walk_by_libunwind(ucontext_t* context, Frames& out) {
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) != 0) {
        return 0;
    }
    std::size_t depth = 0;
    do {
        unw_word_t ip = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (ip == 0) {
            break;
        }
        out[depth++] = ip;
    } while (depth < out.size() && unw_step(&cursor) > 0);
    return depth;
}

void compare_with_copy(const Registers& registers, const WalkResult& live) {
    const std::uint64_t size = samples.bounds.high - registers.sp();
    if (size > samples.stack.size()) {
        return;
    }
    std::memcpy(samples.stack.data(), reinterpret_cast<const void*>(registers.sp()), size);
    StackMemory memory =
        StackMemory::recorded(registers.sp(), std::span{samples.stack}.first(size));
    const WalkResult copied = samples.tables->walk(registers, memory, samples.copied);
    ++samples.copies;
    samples.copies_equal +=
        copied.depth == live.depth && copied.reason == live.reason &&
                std::equal(samples.live.begin(), samples.live.begin() + live.depth,
                           samples.copied.begin())
            ? 1
            : 0;
}

/// Once, in 200 µs of wall time.
void arm(timer_t timer) {
    itimerspec times{};
    times.it_value.tv_nsec = 200'000;
    timer_settime(timer, 0, &times, nullptr);
}

void on_sample(int /*signal*/, siginfo_t* info, void* raw) {
    auto* context = static_cast<ucontext_t*>(raw);
    const Registers registers = registers_of(*context);
    StackMemory memory = StackMemory::live(samples.bounds, StackMemory::Outside::probe);
    const WalkResult result = samples.tables->walk(registers, memory, samples.live);
    samples.probes += memory.probes();
    samples.at_root += result.reason == StopReason::root ? 1 : 0;
    samples.restored_all += result.restored_all ? 1 : 0;
    samples.frames += result.depth;
    compare_with_copy(registers, result);

    Difference& now = samples.now;
    now.ours_depth = result.depth;
    for (std::uint32_t i = 0; i < result.depth; ++i) {
        now.ours[i] = samples.live[i].bits() & ~(std::uint64_t{3} << 62);
    }
    now.theirs_depth = walk_by_libunwind(context, now.theirs);
    if (now.ours_depth == now.theirs_depth &&
        std::equal(now.ours.begin(), now.ours.begin() + now.ours_depth, now.theirs.begin())) {
        ++samples.equal;
    } else if (samples.different < kKeptDifferences) {
        samples.differences[samples.different++] = now;
    }
    samples.taken.fetch_add(1, std::memory_order_relaxed);
    arm(*static_cast<timer_t*>(info->si_value.sival_ptr));
}

/// Interrupts this thread 200 µs after the handler's last end: however long that takes, the thread
/// gets on.
class Timer {
public:
    Timer() {
        struct sigaction action {};
        action.sa_sigaction = on_sample;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigaction(SIGPROF, &action, nullptr);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGPROF;
        event._sigev_un._tid = gettid();
        event.sigev_value.sival_ptr = &timer_;
        timer_create(CLOCK_MONOTONIC, &event, &timer_);
        arm(timer_);
    }
    ~Timer() {
        timer_delete(timer_);
        // One may still be pending: it must not kill.
        std::signal(SIGPROF, SIG_IGN);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

private:
    timer_t timer_{};
};

volatile double result_sink = 0;

[[gnu::noinline]] double sort_strings(std::mt19937& random) {
    std::vector<std::string> words(200);
    for (std::string& word : words) {
        word = std::to_string(random());
    }
    std::sort(words.begin(), words.end());
    std::map<std::string, int> counted;
    for (const std::string& word : words) {
        ++counted[word.substr(0, 3)];
    }
    return static_cast<double>(counted.size());
}

[[gnu::noinline]] double match_regex(std::mt19937& random) {
    static const std::regex pattern{"(\\d+)-([a-f]*)x?(1|2|3)+"};
    const std::string text = std::to_string(random()) + "-abcx" + std::to_string(random());
    std::smatch match;
    return std::regex_search(text, match, pattern) ? 1 : 0;
}

[[gnu::noinline]] double format_numbers(std::mt19937& random) {
    std::ostringstream stream;
    for (int i = 0; i < 20; ++i) {
        stream << random() << ' ' << static_cast<double>(random()) / 7 << ' ';
    }
    return static_cast<double>(stream.str().size());
}

[[gnu::noinline]] double compute(std::mt19937& random) {
    double sum = 0;
    for (int i = 1; i < 200; ++i) {
        sum += std::sin(static_cast<double>(random())) * std::pow(1.0001, i) + std::lgamma(i);
    }
    return sum;
}

int compare_ints(const void* left, const void* right) {
    return *static_cast<const int*>(left) < *static_cast<const int*>(right) ? -1 : 1;
}

[[gnu::noinline]] double sort_by_callback(std::mt19937& random) {
    std::vector<int> values(300);
    for (int& value : values) {
        value = static_cast<int>(random() >> 1);
    }
    std::qsort(values.data(), values.size(), sizeof(int), compare_ints);
    return values[0];
}

[[gnu::noinline]] double nested(std::mt19937& random, int depth) {
    if (depth > 0) {
        return nested(random, depth - 1) + 1;
    }
    return sort_strings(random) + match_regex(random) + format_numbers(random) + compute(random) +
           sort_by_callback(random);
}

std::uint64_t wanted_samples() {
    std::uint64_t wanted = 3000;
    if (const char* text = std::getenv("SAMPLE_DIFFERENTIAL_SAMPLES")) {
        std::from_chars(text, text + std::strlen(text), wanted);
    }
    return wanted;
}

std::string text_of(const Difference& difference) {
    std::ostringstream text;
    text << std::hex;
    const std::size_t rows = std::max(difference.ours_depth, difference.theirs_depth);
    for (std::size_t i = 0; i < rows; ++i) {
        text << (i < difference.ours_depth ? difference.ours[i] : 0) << "  "
             << (i < difference.theirs_depth ? difference.theirs[i] : 0) << '\n';
    }
    return text.str();
}

TEST(WalkDifferential, agrees_with_libunwind_on_interrupted_stacks) {
    Tables tables;
    samples.tables = &tables;
    samples.bounds = stack_bounds();
    // libunwind sets itself up outside of the handler.
    ucontext_t context;
    getcontext(&context);
    ASSERT_GT(walk_by_libunwind(&context, samples.now.theirs), 2U);

    const std::uint64_t wanted = wanted_samples();
    std::mt19937 random{7};
    {
        const Timer timer;
        for (int round = 0; samples.taken.load(std::memory_order_relaxed) < wanted; ++round) {
            result_sink = nested(random, round % 40);
        }
    }
    const auto taken = static_cast<double>(samples.taken.load());
    std::printf(
        "%.0f stacks, %.1f frames each; equal %.4f %%, at the root %.4f %%, restored all "
        "registers %lu, probes %lu, copies %lu\n",
        taken, static_cast<double>(samples.frames) / taken,
        100 * static_cast<double>(samples.equal) / taken,
        100 * static_cast<double>(samples.at_root) / taken, samples.restored_all, samples.probes,
        samples.copies);
    for (std::size_t i = 0; i < samples.different; ++i) {
        std::printf("ours, libunwind:\n%s\n", text_of(samples.differences[i]).c_str());
    }
    EXPECT_GE(static_cast<double>(samples.equal), 0.999 * taken);
    EXPECT_EQ(samples.at_root, samples.taken.load());
    EXPECT_EQ(samples.probes, 0U);
    EXPECT_GT(static_cast<double>(samples.copies), 0.9 * taken);
    EXPECT_EQ(samples.copies_equal, samples.copies);
}

}  // namespace
}  // namespace sample::unwind::testing
