// What we say of a filter is what the kernel does with it.
#include "sampler/agent/confinement/seccomp_filter.h"

#include "sampler/capture/raw_syscall.h"
#include "tests/sampler/child_process.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstddef>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using collector::Child;
using Filter = std::vector<sock_filter>;

constexpr std::uint32_t kErrno = SECCOMP_RET_ERRNO;

sock_filter statement(unsigned code, std::uint32_t value) {
    return {static_cast<std::uint16_t>(code), 0, 0, value};
}

sock_filter load_word(std::size_t offset) {
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

FilteredCall made_call(long number, const std::array<long, 6>& arguments) {
    return {number, arguments, 0x3f};
}

/// Random programs of which the kernel takes many. Whatever they compute becomes an error number.
class FilterMaker {
public:
    explicit FilterMaker(unsigned seed) : random_{seed} {}

    Filter make() {
        // What the child needs to tell how it went.
        Filter filter = {load_word(offsetof(seccomp_data, nr)),
                         {BPF_JMP | BPF_JGE | BPF_K, 1, 0, kFirstNumber},
                         statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        for (std::uint32_t word = 0; word < 4; ++word) {
            filter.push_back(load_word(offsetof(seccomp_data, args) + 4 * std::size_t{below(12)}));
            filter.push_back(statement(BPF_ST, word));
        }
        constexpr std::uint32_t kSteps = 24;
        for (std::uint32_t left = kSteps; left > 0; --left) {
            filter.push_back(step(left));
        }
        filter.push_back(statement(BPF_ALU | BPF_AND | BPF_K, 0x7ff));
        filter.push_back(statement(BPF_ALU | BPF_OR | BPF_K, kErrno));
        filter.push_back(statement(BPF_RET | BPF_A, 0));
        return filter;
    }

    std::array<long, 6> arguments() {
        std::array<long, 6> made{};
        for (long& value : made) {
            value = static_cast<long>(below(2) != 0 ? interesting()
                                                    : std::uint64_t{random_()} << 32U | random_());
        }
        return made;
    }
    long number() { return kFirstNumber + static_cast<long>(below(4)); }

    static constexpr std::uint32_t kFirstNumber = 1000;  // the kernel knows none of them

private:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_()) % limit;
    }
    std::uint32_t interesting() {
        constexpr std::array<std::uint32_t, 8> kValues = {0,  1,    2,          31,
                                                          32, 1001, 0x7fffffff, 0xffffffff};
        return kValues[below(kValues.size())];
    }

    /// `left`: steps to the end, this one included.
    sock_filter step(std::uint32_t left) {
        constexpr std::array kOperations = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
                                            BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
        constexpr std::array kJumps = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
        const unsigned source = below(2) != 0 ? BPF_X : BPF_K;
        switch (below(9)) {
            case 0:
                return load_word(4 * below(2) + (below(2) != 0 ? 16 + 4 * below(12) : 0) % 64);
            case 1:
                return statement(below(2) != 0 ? BPF_LD | BPF_IMM : BPF_LDX | BPF_IMM,
                                 interesting());
            case 2:
                return statement(below(2) != 0 ? BPF_LD | BPF_MEM : BPF_LDX | BPF_MEM, below(4));
            case 3:
                return statement(below(2) != 0 ? BPF_ST : BPF_STX, below(4));
            case 4:
                return statement(BPF_MISC | (below(2) != 0 ? BPF_TAX : BPF_TXA), 0);
            case 5:
                return statement((below(2) != 0 ? BPF_LD : BPF_LDX) | BPF_W | BPF_LEN, 0);
            case 6:
                return {static_cast<std::uint16_t>(
                            BPF_JMP | static_cast<unsigned>(kJumps[below(kJumps.size())]) | source),
                        static_cast<std::uint8_t>(below(left)),
                        static_cast<std::uint8_t>(below(left)), interesting()};
            default: {
                const auto operation = static_cast<unsigned>(kOperations[below(10)]);
                return statement(
                    BPF_ALU | operation | (operation == BPF_NEG ? BPF_K : source),
                    operation == BPF_LSH || operation == BPF_RSH ? below(32) : interesting() | 1U);
            }
        }
    }

    std::mt19937 random_;
};

constexpr std::size_t kCalls = 8;

/// What a child under the filter saw.
struct Seen {
    bool accepted = false;
    std::array<long, kCalls> results{};
    std::size_t made = 0;  ///< One more killed it, if there are fewer than kCalls.
};

bool set_filter(const Filter& filter) {
    const sock_fprog program{static_cast<std::uint16_t>(filter.size()),
                             const_cast<sock_filter*>(filter.data())};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class SeccompFilter : public testing::Test {
protected:
    SeccompFilter()
        : seen_{static_cast<Seen*>(::mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))} {}
    ~SeccompFilter() override { ::munmap(seen_, sizeof(Seen)); }

    Seen ask_kernel(const Filter& filter, const std::array<FilteredCall, kCalls>& calls) {
        *seen_ = {};
        Child child{[&] {
            seen_->accepted = set_filter(filter);
            for (; seen_->accepted && seen_->made < kCalls; ++seen_->made) {
                const FilteredCall& call = calls[seen_->made];
                const auto& a = call.arguments;
                seen_->results[seen_->made] =
                    raw_syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
            }
            ::_exit(0);
        }};
        (void)child.reap();
        return *seen_;
    }

private:
    Seen* seen_;
};

TEST_F(SeccompFilter, says_of_random_filters_what_the_kernel_does) {
    int accepted = 0;
    int kills = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        FilterMaker make{seed};
        const Filter filter = make.make();
        std::array<FilteredCall, kCalls> calls;
        for (FilteredCall& call : calls) {
            call = made_call(make.number(), make.arguments());
        }
        const Seen seen = ask_kernel(filter, calls);
        if (!seen.accepted) {
            continue;
        }
        ++accepted;
        for (std::size_t i = 0; i < seen.made; ++i) {
            const auto said = run_filter(filter, calls[i]);
            ASSERT_TRUE(said) << "call " << i;
            EXPECT_EQ(seen.results[i], -static_cast<long>(*said & SECCOMP_RET_DATA));
        }
        if (seen.made < kCalls) {
            ++kills;  // a division by a register that is zero
            EXPECT_FALSE(run_filter(filter, calls[seen.made]));
        }
    }
    EXPECT_GT(accepted, 200);
    EXPECT_GT(kills, 0);
}

TEST(SeccompFilterAnswer, is_unknown_where_the_filter_looks_at_something_unknown) {
    const auto returned = [](std::size_t offset, std::uint8_t known) {
        const Filter filter = {load_word(offset), statement(BPF_RET | BPF_A, 0)};
        return run_filter(filter, {7, {0x1'0000'0002, 3}, known});
    };
    EXPECT_EQ(returned(offsetof(seccomp_data, nr), 0), 7U);
    EXPECT_EQ(returned(offsetof(seccomp_data, arch), 0), AUDIT_ARCH_X86_64);
    EXPECT_EQ(returned(offsetof(seccomp_data, args), 1), 2U);
    EXPECT_EQ(returned(offsetof(seccomp_data, args) + 4, 1), 1U);
    EXPECT_EQ(returned(offsetof(seccomp_data, args) + 8, 2), 3U);
    EXPECT_EQ(returned(offsetof(seccomp_data, args), 2), std::nullopt);
    EXPECT_EQ(returned(offsetof(seccomp_data, args) + 12, 1), std::nullopt);
    EXPECT_EQ(returned(offsetof(seccomp_data, instruction_pointer), 0x3f), std::nullopt);
    EXPECT_EQ(returned(sizeof(seccomp_data), 0x3f), std::nullopt);
    EXPECT_EQ(returned(1, 0x3f), std::nullopt);
}

TEST(SeccompFilterAnswer, is_unknown_where_the_filter_goes_astray) {
    for (const Filter& filter :
         {Filter{}, Filter{statement(BPF_JMP | BPF_JA, 0xffffffff)},
          Filter{statement(BPF_LD | BPF_MEM, 3), statement(BPF_RET | BPF_A, 0)},
          Filter{statement(BPF_ST, 16), statement(BPF_RET | BPF_A, 0)},
          Filter{statement(BPF_ALU | BPF_DIV | BPF_X, 0), statement(BPF_RET | BPF_A, 0)},
          Filter{statement(BPF_LD | BPF_B | BPF_ABS, 0), statement(BPF_RET | BPF_A, 0)}}) {
        EXPECT_EQ(run_filter(filter, {}), std::nullopt);
    }
}

TEST(FilterCopy, is_whole) {
    const Filter filter(300, statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{300, const_cast<sock_filter*>(filter.data())};
    const FilterCopy copy{as_argument(&program)};
    EXPECT_FALSE(copy.is_refused());
    ASSERT_EQ(copy.filter().size(), 300);
    EXPECT_EQ(copy.filter().back().k, SECCOMP_RET_ALLOW);
}

TEST(FilterCopy, leaves_bad_addresses_and_lengths_to_the_kernel) {
    sock_filter step = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog nowhere{1, reinterpret_cast<sock_filter*>(0x10)};
    const sock_fprog empty{0, &step};
    const sock_fprog endless{BPF_MAXINSNS + 1, &step};
    for (const long where :
         {0L, 0x10L, -1L, as_argument(&nowhere), as_argument(&empty), as_argument(&endless)}) {
        const FilterCopy copy{where};
        EXPECT_TRUE(copy.is_refused()) << where;
        EXPECT_TRUE(copy.filter().empty());
    }
}

/// Everything is allowed but `number`, which gets `action`.
Filter all_but(std::uint32_t number, std::uint32_t action) {
    return {load_word(offsetof(seccomp_data, nr)),
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
            statement(BPF_RET | BPF_K, action),
            statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

TEST(NeededCalls, pass_a_filter_that_only_logs) {
    const Filter filter = {statement(BPF_RET | BPF_K, SECCOMP_RET_LOG)};
    for (const Needs needs : {Needs::looking, Needs::sampling, Needs::sampling_thread,
                              Needs::resting, Needs::joining}) {
        EXPECT_TRUE(permits(filter, needs));
    }
}

TEST(NeededCalls, do_not_pass_a_filter_that_does_anything_else_to_one_of_them) {
    for (const std::uint32_t action :
         {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO,
          SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRACE, 0x12340000U}) {
        EXPECT_FALSE(permits(all_but(SYS_clock_gettime, action), Needs::sampling));
        EXPECT_TRUE(permits(all_but(SYS_socket, action), Needs::sampling));
        EXPECT_FALSE(permits(all_but(SYS_socket, action), Needs::joining));
        EXPECT_FALSE(permits(all_but(SYS_rt_sigtimedwait, action), Needs::resting));
        EXPECT_TRUE(permits(all_but(SYS_rt_sigtimedwait, action), Needs::sampling_thread));
        EXPECT_EQ(permits(all_but(SYS_perf_event_open, action), Needs::joining),
                  action == SECCOMP_RET_ERRNO);
    }
}

}  // namespace
}  // namespace sample::agent
