// The handler at work, in the test program itself and without the agent: by real signals where the
// kernel has them, and by calls with a context that getcontext(3) made.
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/thread_slots.h"
#include "sampler/collector/process/tick_clock.h"
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/own_process.h"
#include "unwind/walk/walk.h"

#include <fcntl.h>
#include <ucontext.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace sample::capture {
namespace {

using namespace std::string_view_literals;

using collector::AreaReader;
using collector::KeepingSink;
using collector::TestArea;

constexpr std::uint64_t kPeriodNs = 100'000;
constexpr std::uint64_t kNoSampleIsLong = ~std::uint64_t{0};

volatile std::uint64_t sink_value = 0;
int foreign_signals = 0;

// Called twice a round with known shares of the work.
[[gnu::noinline]] void work(std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        sink_value = sink_value * 31 + i;
    }
}
[[gnu::noinline]] void three_parts() {
    work(60'000);
    sink_value = sink_value + 1;
}
[[gnu::noinline]] void one_part() {
    work(20'000);
    sink_value = sink_value + 1;
}
[[gnu::noinline]] void burn(std::uint64_t ns) {
    constexpr int kBetweenReads = 8;  // what a read takes is nothing beside them
    const std::uint64_t end = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < end) {
        for (int i = 0; i < kBetweenReads; ++i) {
            three_parts();
            one_part();
        }
    }
}

class Handler : public ::testing::Test {
protected:
    void SetUp() override {
        foreign_signals = 0;
        attach(&test.area(), modules.table(), [](int, siginfo_t*, void*) { ++foreign_signals; });
        tell_own_stack();
        header().gap_ticks = gap_ticks_of(kPeriodNs);
        test.area().header.period_ticks = kNoSampleIsLong;
    }
    void TearDown() override { detach_after_fork(); }

    static std::uint64_t gap_ticks_of(std::uint64_t period_ns) {
        return static_cast<std::uint64_t>(1.5 * static_cast<double>(period_ns) *
                                          collector::TickClock{}.ticks_per_ns());
    }

    /// As if the event had expired here.
    [[gnu::noinline]] void take_one(siginfo_t info = sample_info()) const {
        ucontext_t context;
        ::getcontext(&context);
        on_signal(info.si_signo, &info, &context);
    }
    KeepingSink& drain() {
        reader.drain(sink);
        return sink;
    }
    [[nodiscard]] bool holds(const KeepingSink::Kept& sample, void (*function)()) const {
        return std::any_of(sample.frames.begin(), sample.frames.end(), [&](std::uint64_t frame) {
            return modules.function_of(frame) == reinterpret_cast<std::uint64_t>(function);
        });
    }
    [[nodiscard]] AreaHeader& header() const { return test.area().header; }

    TestArea test;
    OwnModules modules;
    AreaReader reader{test.area()};
    KeepingSink sink;
};

TEST_F(Handler, takes_all_of_a_busy_threads_time) {
    const SignalAction action{SIGTRAP, on_signal};
    const std::uint64_t period_ns = affordable_period_ns();
    header().period_ns = period_ns;
    header().gap_ticks = gap_ticks_of(period_ns);
    const TrapEvent event{period_ns};
    SAMPLE_NEEDS_EVENT(event);
    const std::uint64_t before = thread_cpu_ns();
    add_early_thread({static_cast<std::uint32_t>(::gettid()), before});
    event.on();
    burn(300'000'000);
    event.off();
    const std::uint64_t spent = thread_cpu_ns() - before;
    drain();

    ASSERT_FALSE(sink.samples.empty());
    // The event's timer also runs through interrupts, which the thread's clock does not count.
    EXPECT_LT(sink.samples.size() * 100, spent / period_ns * 102);
    std::uint64_t weights = 0;
    std::size_t three = 0;
    std::size_t one = 0;
    std::size_t in_work = 0;
    for (const KeepingSink::Kept& sample : sink.samples) {
        weights += sample.weight_ns;
        EXPECT_EQ(sample.stop, static_cast<std::uint32_t>(unwind::StopReason::root));
        three += holds(sample, three_parts) ? 1 : 0;
        one += holds(sample, one_part) ? 1 : 0;
        in_work += FrameAddress::from_bits(sample.frames.back()).is_exact() ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(weights), static_cast<double>(spent),
                0.02 * static_cast<double>(spent));
    EXPECT_EQ(in_work, sink.samples.size()) << "each has its leaf";
    EXPECT_NEAR(static_cast<double>(three) / static_cast<double>(three + one), 0.75, 0.05);
    EXPECT_GT((three + one) * 10, sink.samples.size() * 9);
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.cpu_ns, before);
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
    const collector::HandlerTotals totals = reader.totals();
    EXPECT_EQ(totals.samples, sink.samples.size());
    EXPECT_EQ(totals.lost, 0U);
    EXPECT_GT(totals.ticks, 0U);
    std::uint64_t in_classes = 0;
    for (const std::uint64_t count : totals.histogram) {
        in_classes += count;
    }
    EXPECT_EQ(in_classes, totals.samples);
}

TEST_F(Handler, leaves_errno_alone) {
    const SignalAction action{SIGTRAP, on_signal};
    const TrapEvent event{affordable_period_ns()};
    SAMPLE_NEEDS_EVENT(event);
    event.on();
    // Volatile: the compiler sees nobody here who could change it.
    volatile int& number = errno;
    number = ENOTRECOVERABLE;
    bool kept = true;
    for (int i = 0; i < 300; ++i) {
        work(100'000);
        kept = kept && number == ENOTRECOVERABLE;
    }
    event.off();
    EXPECT_TRUE(kept);
    EXPECT_GT(drain().samples.size(), 10U);
}

TEST_F(Handler, counts_a_signal_that_meets_it_at_work) {
    const SignalAction action{SIGTRAP, on_signal};
    const TrapEvent event{affordable_period_ns()};
    SAMPLE_NEEDS_EVENT(event);
    event.on();
    const std::uint64_t end = thread_cpu_ns() + 2'000'000'000;
    std::uint64_t by_hand = 0;
    while (header().lost_reentry.load() == 0 && thread_cpu_ns() < end) {
        for (int i = 0; i < 100; ++i) {
            take_one();
            ++by_hand;
        }
        drain();
    }
    event.off();
    drain();
    EXPECT_GT(header().lost_reentry.load(), 0U);
    EXPECT_EQ(reader.totals().lost, header().lost_reentry.load());
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
    EXPECT_GT(sink.samples.size(), by_hand / 2);
}

TEST_F(Handler, takes_the_stack_of_a_context) {
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 1U);
    const KeepingSink::Kept& sample = sink.samples[0];
    EXPECT_EQ(sample.stop, static_cast<std::uint32_t>(unwind::StopReason::root));
    EXPECT_GT(sample.frames.size(), 5U) << "gtest's frames, main, _start";
    EXPECT_TRUE(FrameAddress::from_bits(sample.frames.back()).is_exact());
    EXPECT_GT(sample.weight_ns, 0U) << "the thread's time so far";
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.tid, static_cast<std::uint32_t>(::gettid()));
}

TEST_F(Handler, sends_only_the_frames_that_changed) {
    for (int i = 0; i < 3; ++i) {
        take_one();
    }
    drain();
    ASSERT_EQ(sink.samples.size(), 3U);
    EXPECT_EQ(sink.samples[0].kept, 0U);
    // One call site in one loop: all but the leaf's own frames are the same.
    EXPECT_GE(sink.samples[1].kept + 2, sink.samples[1].frames.size());
    EXPECT_EQ(sink.samples[2].frames, sink.samples[1].frames);
}

TEST_F(Handler, carries_the_time_of_a_lost_sample_on) {
    take_one();
    const ThreadSlot& slot = test.slot(0);
    ThreadState& thread = *thread_states().claimed(0);
    // The chunk is full, and there is no other.
    Bitmap& chunks = header().free_chunks;
    std::array<std::uint64_t, std::tuple_size_v<Bitmap>> free{};
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        free[i] = chunks[i].exchange(0);
    }
    thread.cursor.used = Chunk::kDataBytes - 8;
    const std::uint64_t before = thread.accounted_ns;
    burn(3'000'000);
    take_one();
    EXPECT_EQ(slot.lost.load(), 1U);
    EXPECT_EQ(thread.accounted_ns, before);
    EXPECT_EQ(slot.samples.load(), 1U);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        chunks[i].store(free[i]);
    }
    take_one();
    EXPECT_EQ(slot.samples.load(), 2U);
    EXPECT_GE(thread.accounted_ns, before + 3'000'000);
}

TEST_F(Handler, lets_the_program_go_on_where_samples_take_longer_than_a_period) {
    header().period_ticks = 1;
    take_one();
    const ThreadSlot& slot = test.slot(0);
    for (int more = 0; more < 1000 && slot.lost.load() == 0; ++more) {
        take_one();
    }
    EXPECT_EQ(slot.lost.load(), 1U);
    const std::uint64_t before = slot.samples.load();
    EXPECT_GE(before, 16U);
    burn(3'000'000);
    take_one();
    EXPECT_EQ(slot.samples.load(), before + 1);
}

TEST_F(Handler, what_comes_next_stands_for_samples_that_were_lost) {
    const ThreadSlot& slot = test.slot(0);
    header().period_ticks = 1;
    header().gap_ticks = 0;  // the clock is read each time
    for (int more = 0; more < 1000 && slot.lost.load() == 0; ++more) {
        take_one();
    }
    ASSERT_EQ(slot.lost.load(), 1U);
    header().kernel_excluded = 1;
    const ThreadState& thread = *thread_states().claimed(0);
    const std::uint64_t before = slot.samples.load();
    std::uint64_t period_ns = 0;
    while (slot.samples.load() == before) {
        burn(3'000'000);
        period_ns = (thread_cpu_ns() - thread.accounted_ns) * 3 / 4;
        header().period_ns = period_ns;
        take_one();
    }
    ASSERT_FALSE(drain().samples.empty());
    EXPECT_GT(sink.samples.back().weight_ns, period_ns);
    EXPECT_EQ(sink.samples.back().unseen_ns, 0U) << "the lost one was no time in the kernel";
}

TEST_F(Handler, what_comes_next_stands_for_expiries_that_were_skipped) {
    take_one();
    header().period_ns = kPeriodNs;
    header().gap_ticks = kNoSampleIsLong >> 16U;  // no clock is read
    header().skipped_share = 1U << 30U;
    constexpr std::size_t kExpiries = 4000;
    for (std::size_t expiry = 0; expiry < kExpiries; ++expiry) {
        take_one();
    }
    header().skipped_share = 0;
    take_one();
    drain();
    const std::size_t taken = sink.samples.size() - 1;
    EXPECT_NEAR(static_cast<double>(taken) / kExpiries, 0.75, 0.05);
    std::uint64_t weights = 0;
    for (std::size_t at = 1; at <= taken; ++at) {
        weights += sink.samples[at].weight_ns;
    }
    EXPECT_EQ(weights, (kExpiries + 1) * kPeriodNs);
    EXPECT_EQ(reader.totals().lost, 0U);
}

/// Where a system call that SIGUSR1 has interrupted is to begin again.
class InterruptedCall : public Handler {
protected:
    static constexpr greg_t kCall = 0x401000;

    void SetUp() override {
        Handler::SetUp();
        ASSERT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0);
        sigset_t set{};
        sigaddset(&set, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    }
    void TearDown() override {
        ::signal(SIGUSR1, SIG_IGN);
        sigset_t set{};
        sigaddset(&set, SIGUSR1);
        ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        ::signal(SIGUSR1, SIG_DFL);
        ::close(pipe_[0]);
        ::close(pipe_[1]);
        Handler::TearDown();
    }
    static void wait_with_handler(int flags) {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        action.sa_flags = flags;
        ::sigaction(SIGUSR1, &action, nullptr);
        ::raise(SIGUSR1);
    }
    [[nodiscard]] ucontext_t restarted_read() const {
        ucontext_t context{};
        ::getcontext(&context);
        gregset_t& regs = context.uc_mcontext.gregs;
        regs[REG_RIP] = kCall;
        regs[REG_RCX] = kCall + 2;
        regs[REG_R11] = regs[REG_EFL] = 0x246;
        regs[REG_RAX] = SYS_read;
        regs[REG_RDI] = pipe_[0];
        sigemptyset(&context.uc_sigmask);
        return context;
    }
    /// What the thread goes on with behind a sample: its pc and rax.
    static std::pair<greg_t, greg_t> sampled(ucontext_t context, siginfo_t info = sample_info()) {
        on_signal(info.si_signo, &info, &context);
        return {context.uc_mcontext.gregs[REG_RIP], context.uc_mcontext.gregs[REG_RAX]};
    }
    static constexpr std::pair<greg_t, greg_t> kInterrupted{kCall + 2, -EINTR};
    static constexpr std::pair<greg_t, greg_t> kRestarted{kCall, SYS_read};

    std::array<int, 2> pipe_{-1, -1};
};

TEST_F(InterruptedCall, ends_as_the_waiting_signals_handler_says) {
    EXPECT_EQ(sampled(restarted_read()), kRestarted) << "nothing waits";
    wait_with_handler(0);
    EXPECT_EQ(sampled(restarted_read()), kInterrupted);
    ucontext_t blocked = restarted_read();
    sigaddset(&blocked.uc_sigmask, SIGUSR1);
    EXPECT_EQ(sampled(blocked), kRestarted) << "it goes on waiting";
}

TEST_F(InterruptedCall, makes_a_sample_late_that_met_its_thread_without_a_processor) {
    header().gap_ticks = 0;  // as with a sampling thread
    siginfo_t info = sample_info();
    info.si_code = SI_QUEUE;
    info.si_errno = kFromSamplingThread;
    ucontext_t context = restarted_read();
    gregset_t& regs = context.uc_mcontext.gregs;
    sampled(context, info);
    ASSERT_NE(t_thread.state, nullptr);
    t_thread.state->sent_ns = 1;
    constexpr std::uint64_t kNever = ~std::uint64_t{0};
    for (const std::uint64_t late_ns : {kNever, std::uint64_t{0}}) {
        t_thread.state->late_ns = late_ns;
        for (const greg_t place : {kCall + 1, kCall + 2}) {
            regs[REG_RIP] = place;
            sampled(context, info);
            const bool is_late = late_ns == 0 && place == kCall + 2;
            EXPECT_EQ(t_thread.state->slot->late.load(), is_late ? 1U : 0U) << place;
        }
    }
}

TEST_F(InterruptedCall, is_made_again_for_handlers_that_say_so) {
    wait_with_handler(SA_RESTART);
    EXPECT_EQ(sampled(restarted_read()), kRestarted);
}

TEST_F(InterruptedCall, is_not_one_that_is_yet_to_be_made_or_cannot_wait) {
    wait_with_handler(0);
    ucontext_t first = restarted_read();
    first.uc_mcontext.gregs[REG_RCX] = 0;
    EXPECT_EQ(sampled(first), kRestarted);
    ucontext_t of_file = restarted_read();
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    of_file.uc_mcontext.gregs[REG_RDI] = file;
    EXPECT_EQ(sampled(of_file), kRestarted);
    ::close(file);
    ucontext_t other = restarted_read();
    other.uc_mcontext.gregs[REG_RAX] = SYS_getpid;
    EXPECT_EQ(sampled(other).first, kCall);
}

/// `mov $NUMBER, %eax; syscall`, which a signal has ended.
/// A call that has ended with EINTR, behind `code` and a system call instruction in `room`.
ucontext_t ended_call(ucontext_t context, std::string_view code, std::array<char, 64>& room) {
    room.fill('\x90');
    char* const call = room.data() + room.size() - 2;
    code.copy(call - code.size(), code.size());
    "\x0f\x05"sv.copy(call, 2);
    gregset_t& regs = context.uc_mcontext.gregs;
    regs[REG_RIP] = regs[REG_RCX] = reinterpret_cast<greg_t>(call + 2);
    regs[REG_RAX] = -EINTR;
    regs[REG_RBP] = regs[REG_R8] = regs[REG_R9] = SYS_poll;
    return context;
}

class EndedCall : public InterruptedCall {
protected:
    void SetUp() override {
        InterruptedCall::SetUp();
        // Sanitizers have handlers.
        for (int signal = 1; signal <= SIGSYS; ++signal) {
            ::sigaction(signal, nullptr, &before_.at(static_cast<std::size_t>(signal)));
            if (signal != SIGTRAP && signal != kAsyncSignal) {
                ::signal(signal, SIG_DFL);
            }
        }
    }
    void TearDown() override {
        for (int signal = 1; signal <= SIGSYS; ++signal) {
            ::sigaction(signal, &before_.at(static_cast<std::size_t>(signal)), nullptr);
        }
        InterruptedCall::TearDown();
    }
    /// What the thread goes on with behind a sample.
    [[nodiscard]] std::pair<greg_t, greg_t> sampled_behind(std::string_view code, greg_t result,
                                                           siginfo_t info = sample_info()) {
        ucontext_t context = ended_call(restarted_read(), code, room_);
        context.uc_mcontext.gregs[REG_RAX] = result;
        return sampled(context, info);
    }
    [[nodiscard]] greg_t behind() const {
        return reinterpret_cast<greg_t>(room_.data() + room_.size());
    }

private:
    std::array<struct sigaction, SIGSYS + 1> before_{};
    std::array<char, 64> room_{};
};

void relay(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {}

TEST_F(EndedCall, is_made_again_where_only_the_sample_can_have_ended_it) {
    std::array<char, 64> room{};
    const ucontext_t ended = ended_call(restarted_read(), "\xb8\x07\0\0\0"sv, room);
    const greg_t behind = ended.uc_mcontext.gregs[REG_RIP];
    const std::pair<greg_t, greg_t> again{behind - 2, SYS_poll};
    const std::pair<greg_t, greg_t> over{behind, -EINTR};
    EXPECT_EQ(sampled(ended), again) << "no handler";
    struct sigaction action {};
    action.sa_sigaction = relay;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGUSR1, &action, nullptr);
    EXPECT_EQ(sampled(ended), over) << "a handler that nobody sees";
    set_relay(relay);
    EXPECT_EQ(sampled(ended), again);
    sigset_t user;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &user, nullptr);
    ::raise(SIGUSR1);
    EXPECT_EQ(sampled(ended), over) << "its handler comes next";
    ::pthread_sigmask(SIG_UNBLOCK, &user, nullptr);
    for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{SA_RESTART}}) {
        ucontext_t context = ended;
        siginfo_t info = sample_info();
        on_signal(info.si_signo, &info, &context);
        answer_for_handler(context, flags);
        EXPECT_EQ(context.uc_mcontext.gregs[REG_RAX], -EINTR) << "it came before the call";
        EXPECT_EQ(sampled(context), over) << "it has returned behind it";
    }
    set_relay(nullptr);
    ::signal(SIGUSR1, SIG_DFL);
}

TEST_F(EndedCall, is_known_by_the_code_before_it_or_left) {
    struct Code {
        std::string_view bytes;
        long in_libc;  ///< -1: it cannot be told.
        long elsewhere;
    };
    constexpr Code kCodes[] = {
        {"\xb8\x07\0\0\0"sv, SYS_poll, SYS_poll},        // mov $7, %eax
        {"\xb8\x07\0\0\0\x8b\x3c\x24"sv, SYS_poll, -1},  // mov (%rsp), %edi
        {"\xb8\x07\0\0\0\x8b\x7c\x24\x08\x48\x8b\x74\x24\x10"sv, SYS_poll, -1},
        {"\x31\xc0\x48\x8b\x74\x24\x10"sv, SYS_read, -1},  // xor %eax, %eax
        {"\x89\xe8"sv, SYS_poll, -1},                      // mov %ebp, %eax
        {"\x44\x89\xc8"sv, -1, -1},                        // mov %r9d, %eax
        {"\x89\xe8\x8b\x6c\x24\x08"sv, -1, -1},            // a load into it
        {"\xb8\x07\0\0\0\x8b\x44\x24\x08"sv, -1, -1},      // mov 8(%rsp), %eax
        {"\x41\xb8\x07\0\0\0"sv, -1, -1},                  // mov $7, %r8d
        {"\x49\x8d\xb8\x07\0\0\0"sv, SYS_poll, -1},        // lea 7(%r8), %rdi
        {"\x45\x31\xc0"sv, -1, -1},                        // xor %r8d, %r8d
        {"\x4d\x89\xc8\x4c\x8b\x4c\x24\x08"sv, -1, -1},    // libc's syscall()
    };
    for (const Code& code : kCodes) {
        std::array<char, 64> room{};
        const ucontext_t ended = ended_call(restarted_read(), code.bytes, room);
        const greg_t behind = ended.uc_mcontext.gregs[REG_RIP];
        const auto expect = [&](long number) {
            const std::pair<greg_t, greg_t> over{behind, -EINTR};
            const std::pair<greg_t, greg_t> again{behind - 2, number};
            EXPECT_EQ(sampled(ended), number < 0 ? over : again) << &code - kCodes;
        };
        expect(code.elsewhere);
        set_libc_code(reinterpret_cast<std::uint64_t>(room.data()), room.size() + 1);
        expect(code.in_libc);
        set_libc_code(0, 0);
    }
}

TEST_F(EndedCall, is_not_made_again_where_it_would_be_ended_again_and_again) {
    siginfo_t timer{};
    timer.si_signo = kAsyncSignal;
    timer.si_code = SI_TIMER;
    timer.si_value.sival_ptr = reinterpret_cast<void*>(kSampleCookie);
    EXPECT_EQ(sampled_behind("\xb8\x07\0\0\0"sv, -EINTR, timer),
              std::pair(behind(), greg_t{-EINTR}));
}

TEST_F(EndedCall, is_not_made_again_where_it_has_done_something_or_did_not_end_so) {
    EXPECT_EQ(sampled_behind("\xb8\x03\0\0\0"sv, -EINTR), std::pair(behind(), greg_t{-EINTR}));
    EXPECT_EQ(sampled_behind("\xb8\x07\0\0\0"sv, 1), std::pair(behind(), greg_t{1}));
}

TEST_F(Handler, weighs_the_whole_of_a_gap) {
    take_one();
    burn(3'000'000);
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 2U);
    EXPECT_GE(sink.samples[1].weight_ns, 3'000'000U);
    EXPECT_EQ(sink.samples[0].weight_ns + sink.samples[1].weight_ns,
              thread_states().claimed(0)->accounted_ns);
}

TEST_F(Handler, adds_up_what_a_thread_uses_while_it_has_no_slot) {
    for (auto& word : header().free_slots) {
        word.store(0);
    }
    take_one();
    const std::uint64_t first = header().slotless_weight.load();
    burn(3'000'000);
    take_one();
    EXPECT_EQ(header().slotless_threads.load(), 1U);
    const std::uint64_t both = header().slotless_weight.load();
    EXPECT_GE(both - first, 3'000'000U);
    return_bit(header().free_slots, 0);
    burn(1'000'000);
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 1U);
    EXPECT_EQ(header().slotless_weight.load(), both);
    EXPECT_EQ(sink.starts[0].second.cpu_ns, both) << "is accounted for";
    EXPECT_EQ(both + sink.samples[0].weight_ns, thread_states().claimed(0)->accounted_ns);
    EXPECT_EQ(reader.totals().lost, 0U);
}

TEST_F(Handler, adds_up_events_of_a_thread_without_a_slot) {
    header().gap_ticks = kCountsEvents;
    for (auto& word : header().free_slots) {
        word.store(0);
    }
    take_one();
    take_one();
    end_thread();
    EXPECT_EQ(header().slotless_weight.load(), 2 * kPeriodNs);
}

TEST_F(Handler, puts_what_the_source_did_not_see_apart) {
    take_one();
    header().kernel_excluded.store(1);
    burn(3'000'000);
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 2U);
    EXPECT_EQ(sink.samples[1].weight_ns, kPeriodNs);
    EXPECT_GE(sink.samples[1].unseen_ns, 3'000'000U - kPeriodNs);
}

// Its time is booked from the clock, so nothing is lost.
TEST_F(Handler, takes_nothing_after_the_threads_end) {
    take_one();
    end_thread();
    take_one();
    EXPECT_EQ(header().lost_reentry.load(), 0U);
    drain();
    EXPECT_EQ(sink.samples.size(), 1U);
    EXPECT_EQ(sink.ends.size(), 1U);
}

TEST_F(Handler, takes_nothing_once_it_is_stopped) {
    header().stopped.store(1);
    take_one();
    end_thread();
    drain();
    EXPECT_EQ(sink.records(), 0U);
    EXPECT_EQ(collector::count_free(header().free_slots), kMaxThreads);
}

TEST_F(Handler, passes_on_signals_that_are_not_its_own) {
    take_one(sample_info(kSampleCookie + 1));
    siginfo_t trap{};
    trap.si_signo = SIGTRAP;
    trap.si_code = SI_USER;
    take_one(trap);
    EXPECT_EQ(foreign_signals, 2);
    EXPECT_EQ(drain().records(), 0U);
}

TEST_F(Handler, knows_its_descriptors_signal) {
    siginfo_t info{};
    info.si_signo = SIGURG;
    info.si_code = POLL_IN;
    info.si_fd = 77;
    take_one(info);
    EXPECT_EQ(foreign_signals, 1) << "not told yet";
    add_perf_descriptor(77);
    take_one(info);
    EXPECT_EQ(foreign_signals, 1);
    EXPECT_EQ(drain().samples.size(), 1U);
    info.si_code = SI_USER;
    take_one(info);
    EXPECT_EQ(foreign_signals, 2);
}

}  // namespace
}  // namespace sample::capture
