// Where a callback is registered.
//
// Threads that emit take no lock: they say in their record that they are about to be in the slot,
// read it, and look whether it was the same all the time.
#pragma once

#include "receivers/unity/host/said.h"
#include "receivers/unity/host/thread_record.h"

#include <cxxabi.h>

#include <atomic>
#include <cstdint>

namespace sample::unity {

/// All that is registered now is told, whenever it was.
inline constexpr std::uint64_t kAnyClock = ~std::uint64_t{0};

class AnySlot {
public:
    /// It was emptied, and somebody waits until no thread is in it.
    [[nodiscard]] bool is_left() const noexcept { return is_left_.load(std::memory_order_relaxed); }
    void set_left(bool is_left) noexcept { is_left_.store(is_left, std::memory_order_relaxed); }

private:
    std::atomic<bool> is_left_{false};
};

template <class... Arguments>
class Slot : public AnySlot {
public:
    using Function = void (*)(Arguments..., void*);
    struct Callback {
        Function function = nullptr;  ///< Null: none.
        void* user = nullptr;
        std::uint64_t clock = 0;  ///< Of registrations.
    };

    [[nodiscard]] Callback read() const noexcept {
        for (;;) {
            const std::uint32_t version = version_.load(std::memory_order_acquire);
            // Acquire: a later load of the version sees at least the one that these belong to.
            const Callback callback{function_.load(std::memory_order_acquire),
                                    user_.load(std::memory_order_acquire),
                                    clock_.load(std::memory_order_acquire)};
            if (callback.function == nullptr) {
                return {};
            }
            if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version) {
                return callback;
            }
        }
    }
    [[nodiscard]] bool is_free() const noexcept {
        return function_.load(std::memory_order_relaxed) == nullptr && !is_left();
    }

    /// Under the registry's lock.
    void set(const Callback& callback) noexcept {
        version_.fetch_add(1, std::memory_order_acq_rel);
        user_.store(callback.user, std::memory_order_release);
        clock_.store(callback.clock, std::memory_order_release);
        function_.store(callback.function, std::memory_order_release);
        version_.fetch_add(1, std::memory_order_release);
    }
    /// Calls what is here, if it was registered at `clock`. False: there is nothing. Inlined:
    /// handing on the arguments would cost more than the call.
    [[gnu::always_inline]] bool call(ThreadRecord::Place& place, std::uint64_t clock,
                                     Arguments... arguments) {
        const ThreadRecord::Running running{place, this};
        const Callback callback = read();
        if (callback.function == nullptr) {
            return false;
        }
        if (callback.clock <= clock) {
            run(callback, arguments...);
        }
        return true;
    }

private:
    /// What a callback throws must not go through the program, which has only said something.
    [[gnu::always_inline]] static void run(const Callback& callback, Arguments... arguments) {
        try {
            callback.function(arguments..., callback.user);
        } catch (abi::__forced_unwind&) {
            throw;  // The thread ends.
        } catch (...) {
            complain_of_exception(reinterpret_cast<const void*>(callback.function));
        }
    }

    std::atomic<std::uint32_t> version_{0};
    std::atomic<Function> function_{nullptr};
    std::atomic<void*> user_{nullptr};
    std::atomic<std::uint64_t> clock_{0};
};

}  // namespace sample::unity
