// What the host knows of a thread: which of its zones plug-ins were told of, and in which of their
// callbacks it is.
//
// Written by the thread alone, and by its signal handlers, each of which leaves all as it was: the
// depth is raised before an entry is written. Records are kept for other threads to look at, and go
// to the next thread when theirs ends.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sample::unity {

class AnySlot;
struct Marker;

/// A zone that has begun, of which the plug-ins are to be told that it ends.
struct OpenZone {
    Marker* marker = nullptr;  ///< Null: they are not.
    std::uint64_t clock = 0;   ///< Of registrations, when it began.
    bool is_program = false;   ///< Said by sample/trace.h, not by a plug-in.
};

/// One that ends.
struct EndedZone {
    Marker* marker = nullptr;  ///< Null: the plug-ins are not to be told.
    std::uint64_t clock = 0;
};

class ThreadRecord {
public:
    /// Where a thread says in which callback it is. Null: in none.
    using Place = std::atomic<const AnySlot*>;

    static constexpr std::size_t kMostOpen = 256;
    static constexpr std::size_t kMostRunning = 8;

    /// The calling thread's. Null: there is no memory. Async-signal-safe.
    [[nodiscard]] static ThreadRecord* current() noexcept {
        return t_record != nullptr ? t_record : begin_thread();
    }
    /// Calls `visit` with every record.
    template <class Visit>
    static void for_each(Visit visit) noexcept {
        for (ThreadRecord* each = g_first.load(std::memory_order_acquire); each != nullptr;
             each = each->next_) {
            visit(*each);
        }
    }
    /// In a forked child: the other threads are not there.
    static void forget_others() noexcept;

    /// For other threads: behind make_seen() only.
    [[nodiscard]] bool is_in_callback() const noexcept {
        return running_[0].load(std::memory_order_acquire) != nullptr;
    }

    void push(const OpenZone& zone) noexcept {
        const std::uint32_t at = depth_++;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (at < kMostOpen) {
            open_[at] = zone;
            of_plugins_ += zone.is_program ? 0U : 1U;
        }
    }
    /// The innermost zone that the program has said. Without a marker: there is none.
    EndedZone pop_program() noexcept {
        const std::uint32_t top = depth_ - 1;
        if (top < kMostOpen && open_[top].is_program) [[likely]] {
            return remove_top();
        }
        return find_program();
    }
    /// Whether any is open that a plug-in has said.
    [[nodiscard]] bool has_open_of_plugins() const noexcept { return of_plugins_ != 0; }
    /// The innermost one of `marker` that a plug-in has said.
    EndedZone pop_plugin(const Marker* marker) noexcept {
        const std::uint32_t top = depth_ - 1;
        if (top < kMostOpen && !open_[top].is_program && open_[top].marker == marker) [[likely]] {
            --of_plugins_;
            return remove_top();
        }
        return find_plugin(marker);
    }
    /// Zones of the program that began when others were listening are not known any more.
    void enter(std::uint32_t generation) noexcept {
        if (generation_ != generation) [[unlikely]] {
            forget_program();
            generation_ = generation;
        }
    }

    /// For what is called only outside of callbacks.
    [[nodiscard]] Place& outermost_place() noexcept { return running_[0]; }
    /// For what may be called inside of another one. Null: too many are.
    [[nodiscard]] Place* free_place() noexcept;

    /// Says for as long as it lives that the thread is, or is about to be, in what `slot` has. A
    /// handler that comes between may use the same place, and leaves it free.
    class Running {
    public:
        [[gnu::always_inline]] Running(Place& place, const AnySlot* slot) noexcept : place_{place} {
            if (g_is_made_seen.load(std::memory_order_relaxed)) [[likely]] {
                place_.store(slot, std::memory_order_relaxed);
                std::atomic_signal_fence(std::memory_order_seq_cst);
            } else {
                place_.exchange(slot, std::memory_order_seq_cst);
            }
        }
        [[gnu::always_inline]] ~Running() {
            // Pairs with the acquires in is_in_what_is_left() and is_in_callback(): what the
            // callback did is done.
            place_.store(nullptr, std::memory_order_release);
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        Running(Running&&) = delete;
        Running& operator=(Running&&) = delete;

    private:
        Place& place_;
    };
    /// Whether the thread may be in what a slot had that is left. Behind make_seen() only.
    [[nodiscard]] bool is_in_what_is_left() const noexcept;
    /// Whatever this thread has written before is seen by all others before they run on, and what
    /// they have announced is seen by this one.
    static void make_seen() noexcept;

    /// Zones in the recording that plug-ins have begun, and not ended.
    std::uint32_t recorded = 0;
    /// What the thread has said of itself; kept for good.
    const char* name = nullptr;
    const char* group = nullptr;

private:
    EndedZone find_program() noexcept;
    EndedZone find_plugin(const Marker* marker) noexcept;
    void forget_program() noexcept;
    EndedZone remove(std::uint32_t at) noexcept;
    EndedZone remove_top() noexcept {
        // Member by member, as they were written: the whole would wait for the last of these.
        const OpenZone& top = open_[depth_ - 1];
        const EndedZone removed{top.marker, top.clock};
        std::atomic_signal_fence(std::memory_order_seq_cst);
        --depth_;
        return removed;
    }
    void leave() noexcept;
    static void give_back(void* record) noexcept;
    static ThreadRecord* claim() noexcept;
    static ThreadRecord* begin_thread() noexcept;
    friend void begin_thread_records() noexcept;

    // NOLINTNEXTLINE(bugprone-dynamic-static-initializers): clang-tidy 14 does not see constinit.
    static constinit thread_local ThreadRecord* t_record;
    static std::atomic<ThreadRecord*> g_first;
    /// Whether who unregisters makes what others have announced seen, so that they need not.
    static std::atomic<bool> g_is_made_seen;

    ThreadRecord* next_ = nullptr;
    std::atomic<bool> is_used_{true};
    std::uint32_t generation_ = 0;
    std::uint32_t depth_ = 0;
    std::uint32_t of_plugins_ = 0;               ///< Among those that are open.
    std::array<Place, kMostRunning> running_{};  ///< The callbacks that it is in, outermost first.
    std::array<OpenZone, kMostOpen> open_{};
};

/// Once, before anything else here.
void begin_thread_records() noexcept;

}  // namespace sample::unity
