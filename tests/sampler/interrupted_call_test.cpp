// What the handler makes of the system call that it has interrupted: calls with a context that
// getcontext(3) made.
#include "sampler/capture/interrupted_call.h"

#include "sampler/capture/thread_slots.h"
#include "tests/sampler/handler_fixture.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace sample::capture {
namespace {

using namespace std::string_view_literals;

/// Where a system call that SIGUSR1 has interrupted is to begin again.
class InterruptedCall : public HandlerFixture {
protected:
    static constexpr greg_t kCall = 0x401000;

    void SetUp() override {
        HandlerFixture::SetUp();
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
        HandlerFixture::TearDown();
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
}  // namespace
}  // namespace sample::capture
