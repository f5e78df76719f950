// What exists, in order, and the callbacks that are told of each once, in that order, whether it
// was there before they were registered or comes later.
//
// Each callback has a place up to which it was told. Whoever adds something, or registers, takes it
// on from there, unless somebody is at it already, who then goes on to the end: nobody waits, and a
// callback that adds or registers something itself is told of it when it has returned.
#pragma once

#include "receivers/unity/host/callbacks.h"

namespace sample::unity {

template <class Description, std::size_t kMost>
class Announced : public CallbackSlots<const Description*> {
public:
    using typename CallbackSlots<const Description*>::Function;
    using typename CallbackSlots<const Description*>::Registered;

    [[nodiscard]] std::uint32_t count() const noexcept {
        return count_.load(std::memory_order_seq_cst);
    }
    /// `index`: below count().
    [[nodiscard]] const Description* at(std::uint32_t index) const noexcept {
        return all_[index].load(std::memory_order_relaxed);
    }
    /// Under the registry's lock, and announce() behind it. False: there is no room.
    bool append(const Description* description) noexcept {
        const std::uint32_t index = count_.load(std::memory_order_relaxed);
        if (index >= kMost) {
            return false;
        }
        all_[index].store(description, std::memory_order_relaxed);
        count_.store(index + 1, std::memory_order_seq_cst);
        return true;
    }
    void announce(ThreadRecord& thread) {
        this->for_each_used([&](Registered& slot) { take_on(thread, slot); });
    }

    int register_one(Function function, void* user) noexcept {
        ThreadRecord* const thread = ThreadRecord::current();
        Registered* slot = nullptr;
        {
            const RegistryLock lock;
            const std::uint64_t registration = ++registrations_;
            slot = function != nullptr ? this->add(function, user, registration) : nullptr;
            if (slot != nullptr) {
                places_[this->index_of(*slot)].told.store(registration << 32U,
                                                          std::memory_order_relaxed);
            }
        }
        if (slot == nullptr || thread == nullptr) {
            return kRefused;
        }
        take_on(*thread, *slot);
        return kDone;
    }

private:
    struct Place {
        /// Which registration it is of, and in the lower half how many it was told of.
        std::atomic<std::uint64_t> told{0};
        std::atomic<bool> is_taken{false};
    };
    static std::uint32_t next_of(std::uint64_t told) noexcept {
        return static_cast<std::uint32_t>(told);
    }

    void take_on(ThreadRecord& thread, Registered& slot) {
        Place& place = places_[this->index_of(slot)];
        ThreadRecord::Place* const running = thread.free_place();
        // From inside too many callbacks: whoever adds something next goes on.
        while (running != nullptr &&
               next_of(place.told.load(std::memory_order_relaxed)) < count()) {
            if (place.is_taken.exchange(true, std::memory_order_seq_cst)) {
                return;
            }
            const bool is_there = tell_rest(*running, slot, place);
            // Before count() and the slot are looked at again: what was added meanwhile, and who
            // has registered there, was left to this one.
            place.is_taken.exchange(false, std::memory_order_seq_cst);
            if (!is_there && slot.read().function == nullptr) {
                return;
            }
        }
    }
    /// False: nobody is registered there any more.
    bool tell_rest(ThreadRecord::Place& running, Registered& slot, Place& place) {
        for (;;) {
            std::uint64_t told = place.told.load(std::memory_order_relaxed);
            const std::uint32_t index = next_of(told);
            if (index >= count()) {
                return true;
            }
            if (!place.told.compare_exchange_strong(told, told + 1, std::memory_order_relaxed)) {
                continue;  // another registration
            }
            if (!slot.call(running, told >> 32U, at(index))) {
                return false;
            }
        }
    }

    std::atomic<std::uint32_t> count_{0};
    std::array<std::atomic<const Description*>, kMost> all_{};
    std::array<Place, kMostCallbacks> places_{};
    std::uint64_t registrations_ = 0;  ///< Under the registry's lock.
};

}  // namespace sample::unity
