// The callbacks that are registered of one kind: at most four.
//
// Whoever unregisters one waits until no other thread is in it, so that what belongs to it may go
// then; from inside a callback nobody waits, as two might wait for each other. A callback that does
// not return is waited for a second, and it is said.
#pragma once

#include "receivers/unity/host/registry_lock.h"
#include "receivers/unity/host/slot.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sample::unity {

inline constexpr std::size_t kMostCallbacks = 4;

/// What registering and unregistering return.
inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;

/// Takes callbacks out of their slots, which nobody gets before it is safe to.
class Removal {
public:
    Removal() noexcept;
    ~Removal();
    Removal(const Removal&) = delete;
    Removal& operator=(const Removal&) = delete;
    Removal(Removal&&) = delete;
    Removal& operator=(Removal&&) = delete;

    /// Under the registry's lock. Each slot needs its free() behind wait(), if has_left().
    template <class... Arguments>
    void take(Slot<Arguments...>& slot) noexcept {
        slot.set({});
        slot.set_left(!is_inside_);
        ++count_;
    }
    /// Without the lock. At most a second; that a callback has not returned by then is said.
    void wait() const noexcept;
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Whether what was taken needs its free().
    [[nodiscard]] bool has_left() const noexcept { return !is_inside_ && count_ != 0; }

private:
    bool is_inside_;  ///< A callback.
    std::size_t count_ = 0;
};

/// Whether every callback that was running when this was called is over, so that what was
/// unregistered before does not run any more. Waits a second at most; from inside a callback not at
/// all, and is false.
[[nodiscard]] bool have_callbacks_returned() noexcept;

/// In a forked child: nobody else is removing.
void forget_removals() noexcept;

template <class... Arguments>
class CallbackSlots {
public:
    using Registered = Slot<Arguments...>;
    using Function = typename Registered::Function;

    [[nodiscard]] bool is_empty() const noexcept {
        return used_.load(std::memory_order_relaxed) == 0;
    }
    template <class Visit>
    void for_each_used(Visit visit) {
        for (std::uint32_t used = used_.load(std::memory_order_acquire); used != 0;
             used &= used - 1) {
            visit(slots_[static_cast<std::size_t>(std::countr_zero(used))]);
        }
    }
    /// Calls those that were registered at `clock`. `thread`: in no callback.
    [[gnu::always_inline]] void tell(ThreadRecord& thread, std::uint64_t clock,
                                     Arguments... arguments) {
        Registered* const only = only_.load(std::memory_order_acquire);
        if (only != nullptr) [[likely]] {
            only->call(thread.outermost_place(), clock, arguments...);
        } else {
            tell_all(thread, clock, arguments...);
        }
    }

    // Under the registry's lock.

    /// Null: all are used.
    Registered* add(Function function, void* user, std::uint64_t clock = 0) noexcept {
        for (std::size_t at = 0; at < slots_.size(); ++at) {
            if (slots_[at].is_free()) {
                slots_[at].set({function, user, clock});
                set_used(used_.load(std::memory_order_relaxed) | 1U << at);
                return &slots_[at];
            }
        }
        complain_of_number(reinterpret_cast<const void*>(function));
        return nullptr;
    }
    template <class Matches>
    void take(Removal& removal, Matches matches) noexcept {
        for (std::size_t at = 0; at < slots_.size(); ++at) {
            const auto callback = slots_[at].read();
            if (callback.function != nullptr && matches(callback)) {
                removal.take(slots_[at]);
                set_used(used_.load(std::memory_order_relaxed) & ~(1U << at));
            }
        }
    }
    void free() noexcept {
        for (Registered& each : slots_) {
            each.set_left(false);
        }
    }
    [[nodiscard]] std::size_t index_of(const Registered& slot) const noexcept {
        return static_cast<std::size_t>(&slot - slots_.data());
    }

private:
    [[gnu::noinline]] void tell_all(ThreadRecord& thread, std::uint64_t clock,
                                    Arguments... arguments) {
        for_each_used(
            [&](Registered& slot) { slot.call(thread.outermost_place(), clock, arguments...); });
    }

    void set_used(std::uint32_t used) noexcept {
        used_.store(used, std::memory_order_release);
        only_.store(std::has_single_bit(used)
                        ? &slots_[static_cast<std::size_t>(std::countr_zero(used))]
                        : nullptr,
                    std::memory_order_release);
    }

    std::atomic<std::uint32_t> used_{0};      ///< A bit each.
    std::atomic<Registered*> only_{nullptr};  ///< The one that is used, if it is one.
    std::array<Registered, kMostCallbacks> slots_{};
};

/// For callbacks that are told of what happens.
template <class... Arguments>
class Callbacks : public CallbackSlots<Arguments...> {
public:
    using typename CallbackSlots<Arguments...>::Function;

    int register_one(Function function, void* user) noexcept {
        const RegistryLock lock;
        return function != nullptr && this->add(function, user) != nullptr ? kDone : kRefused;
    }
};

/// Unregisters those of `kind` that match. kRefused: there is none.
template <class Kind, class Matches>
int unregister_where(Kind& kind, Matches matches) noexcept {
    Removal removal;
    {
        const RegistryLock lock;
        kind.take(removal, matches);
    }
    removal.wait();
    if (removal.has_left()) {
        const RegistryLock lock;
        kind.free();
    }
    return removal.count() != 0 ? kDone : kRefused;
}

template <class Kind>
int unregister_one(Kind& kind, typename Kind::Function function, void* user) noexcept {
    return unregister_where(
        kind, [=](const auto& each) { return each.function == function && each.user == user; });
}

}  // namespace sample::unity
