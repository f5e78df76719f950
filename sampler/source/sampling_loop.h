// What the sampling thread does: it looks at the program's threads once a period, until its orders
// are to end, the session stops, or nobody else is left. sampling_thread.h says what for.
#pragma once

#include "sampler/source/look_places.h"
#include "sampler/source/own_processor.h"
#include "sampler/source/pace.h"
#include "sampler/source/posix_timer.h"
#include "sampler/source/sampling_thread.h"
#include "sampler/source/tasks.h"
#include "sampler/source/thread_table.h"
#include "sampler/source/visit.h"
#include "sampler/source/wait_watch.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sample::source {

enum Orders : std::uint32_t { wait_for_orders, look_on, end_thread };

/// One in a process; what is public is written by others, before run() or while it runs.
class SamplingLoop {
public:
    void run() noexcept;
    /// After what it looks at has changed.
    void wake() const noexcept;
    /// Tells that the program goes on without it.
    void say_lost() const noexcept;

    SamplingThreadJob job;
    bool interrupts = false;
    int signal = 0;  ///< That interrupts threads.
    int owner = 0;   ///< The process that made it.
    int id = 0;
    std::atomic<int> lives{0};  ///< Its id, 0 once it is on its way out.
    std::atomic<std::uint32_t> has_ended{0};
    std::atomic<int> last_status{0};  ///< Of the program's thread that ended last.
    std::atomic<std::uint32_t> has_dropped_rights{0};
    std::atomic<std::uint32_t> orders{wait_for_orders};
    std::atomic<bool> rests{false};  ///< A signal wakes it, and not the orders.
    std::atomic<bool> may_rest{true};

private:
    /// Else it stands by.
    [[nodiscard]] bool is_at_work() const noexcept {
        return (interrupts || job.reports_waits) &&
               job.area->header.off.load(std::memory_order_relaxed) == 0;
    }
    void follow_frequency() noexcept;
    void take_over_if_told() noexcept;
    [[nodiscard]] bool has_many_threads() noexcept;
    /// How long the program's threads ran since the last look.
    std::uint64_t look_at_all() noexcept;
    std::uint64_t look_at(WatchedThread& thread) noexcept;
    void interrupt_if_due(WatchedThread& thread) noexcept;
    /// It runs, or waits for a processor.
    [[nodiscard]] bool is_awake(const WatchedThread& thread) const noexcept;
    /// From one look at it to the next, on average.
    [[nodiscard]] std::uint64_t time_for_one(const WatchedThread& thread) noexcept;
    [[nodiscard]] bool may_visit() const noexcept {
        return visit_.is_possible() && tick_ >= visits_from_;
    }
    /// At the next look, of those that are visited.
    void mark_due() noexcept;
    /// A thread that may be interrupted.
    struct Found {
        std::uint64_t cpu_ns = 0;   ///< Its clock; 0: it may not.
        std::uint64_t late_ns = 0;  ///< ThreadState::late_ns.
    };
    [[nodiscard]] Found find(const WatchedThread& thread) noexcept;
    [[nodiscard]] Found find_for_visit(const WatchedThread& thread, std::uint64_t cpu_ns) noexcept;
    /// The next look visits one of those that are due.
    void choose_visit() noexcept;
    /// `kept`: a thread that ran since the last look and cannot at the end of this one, if there is
    /// one. Where that goes on, and it has the processor that this thread is on, this one leaves
    /// it.
    void keep_out_of_the_way_of(const WatchedThread* kept) noexcept;
    /// Then it takes the sample itself, soon.
    [[nodiscard]] static bool moves_data(WatchedThread& thread) noexcept;
    /// False: nobody but us is left.
    [[nodiscard]] bool list_threads() noexcept;
    [[nodiscard]] bool is_over() const noexcept;
    /// Says so if the program has fewer rights than the thread, which then may not.
    [[nodiscard]] bool may_go_on() const noexcept;
    void note_look(std::uint64_t ran_ns) noexcept;
    void wait() noexcept;
    void sleep_until_next_tick(std::uint64_t period) noexcept;
    /// Or until there are orders.
    void sleep_until(std::uint64_t moment_ns) noexcept;
    [[nodiscard]] bool can_rest() noexcept;
    /// Until the program has run for half a period, there are orders, or `most_ns` are over.
    void rest(std::uint64_t most_ns) noexcept;
    [[nodiscard]] std::uint32_t random() noexcept;
    void begin() noexcept;

    static constexpr TimerId kNoTimerYet = std::numeric_limits<TimerId>::min();

    int folder_ = 0;
    int self_ = 0;
    int process_ = 0;
    std::uint64_t tick_ = 0;
    std::uint64_t next_ns_ = 0;
    std::uint64_t look_period_ns_ = 0;  ///< Before the look.
    std::uint64_t planned_ns_ = 0;      ///< The next look comes no later, as far as it goes by us.
    std::uint64_t next_listing_ns_ = 0;
    std::uint32_t random_ = 0;
    LookPlaces places_;
    OwnProcessor processor_;
    Visit visit_;
    std::uint64_t visits_from_ = 0;          ///< No visit before this tick.
    std::uint64_t callers_visits_from_ = 0;  ///< The same of threads that never sleep.
    unsigned in_the_way_ = 0;                ///< So many looks found a thread that was kept,
    unsigned looks_in_the_way_ = 0;          ///< and so many are too many.
    Pace pace_;
    TimerId timer_ = kNoTimerYet;        ///< Of the process's CPU clock.
    std::uint64_t spent_before_ns_ = 0;  ///< By those that ended for a while.
    TaskRights rights_;
    WaitWatch waits_;
    ThreadTable table_;
};

}  // namespace sample::source
