#include "sampler/agent/signals/alternate_stack.h"

#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/late_start.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/signal_stacks.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using capture::SignalStack;

/// Slabs whose stacks have guards: each is a mapping more, of which a process may have some 65,000,
/// and a thread of the program's has two already. Source: proc(5), vm.max_map_count.
constexpr std::size_t kGuardedSlabs = 5;

constinit std::atomic<bool> g_is_given{true};

long kernel_sigaltstack(const stack_t* set, stack_t* old) noexcept {
    return raw_syscall(SYS_sigaltstack, as_argument(set), as_argument(old));
}

stack_t kernels_stack() noexcept {
    stack_t now{};
    kernel_sigaltstack(nullptr, &now);
    return now;
}

/// Without what depends on the caller's stack pointer.
stack_t as_view(const stack_t& told) noexcept {
    return {told.ss_sp, told.ss_flags & kAutodisarm, told.ss_size};
}

/// One slab more. False: no memory, or there are as many as can be.
bool grow() noexcept {
    const std::size_t slab = capture::count_stack_slabs();
    if (slab == capture::kStackSlabs) {
        return false;
    }
    const std::size_t count = capture::stacks_in_slab(slab);
    const long bytes = static_cast<long>(count * sizeof(SignalStack));
    const long mapping =
        capture::map_anonymous(count * sizeof(SignalStack), MAP_NORESERVE | MAP_STACK);
    if (capture::is_failure(mapping)) {
        return false;
    }
    // A filter need not know more than what a thread's stack takes: these are for tidiness.
    if (!is_confined()) {
        raw_syscall(SYS_munlock, mapping, bytes);
        raw_syscall(SYS_madvise, mapping, bytes, MADV_DONTDUMP);
    }
    auto* stacks = reinterpret_cast<SignalStack*>(mapping);
    if (!capture::add_stack_slab(slab, stacks)) {
        raw_syscall(SYS_munmap, mapping, bytes);
    }
    return true;
}

/// When a thread is given it, as most processes have one thread.
void guard(const SignalStack& stack) noexcept {
    for (std::size_t slab = 0; slab < kGuardedSlabs && slab < capture::count_stack_slabs();
         ++slab) {
        const auto bytes = capture::stack_slab(slab);
        if (bytes.data() <= reinterpret_cast<const std::byte*>(&stack) &&
            reinterpret_cast<const std::byte*>(&stack) < bytes.data() + bytes.size()) {
            raw_syscall(SYS_mprotect, as_argument(&stack), SignalStack::kGuardBytes, PROT_NONE);
        }
    }
}

SignalStack* claim() noexcept {
    const auto tid = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
    SignalStack* stack = capture::claim_signal_stack(tid);
    if (stack == nullptr && !is_confined()) {
        capture::free_stacks_of_gone_threads();
        stack = capture::claim_signal_stack(tid);
    }
    while (stack == nullptr && grow()) {
        stack = capture::claim_signal_stack(tid);
    }
    if (stack != nullptr) {
        guard(*stack);
    }
    return stack;
}

/// Loaded late, the agent leaves the thread the one that it has, unless ours is larger: past our
/// wrappers the program would find ours in its place, and its handlers run there.
bool is_kept(const stack_t& kernels) noexcept {
    return is_loaded_late() && kernels.ss_size >= SignalStack::kBytes - SignalStack::kGuardBytes;
}

/// In place of `kernels`, which the calling thread has and does not run on. All signals are
/// blocked. Null: there is no memory.
SignalStack* replace(const stack_t& kernels) noexcept {
    SignalStack* own = claim();
    if (own == nullptr) {
        return nullptr;
    }
    own->begin(as_view(kernels));
    const stack_t ours = own->as_kernels(0);
    if (kernel_sigaltstack(&ours, nullptr) != 0) {
        capture::free_signal_stack(*own);
        return nullptr;
    }
    return own;
}

long exchange(const stack_t* set, stack_t* old, std::uint64_t sp) noexcept {
    const stack_t kernels = kernels_stack();
    const bool is_sampled = gives_alternate_stacks();
    SignalStack* own = capture::find_signal_stack(kernels);
    if (own == nullptr && is_sampled && !is_kept(kernels) && (kernels.ss_flags & SS_ONSTACK) == 0) {
        own = replace(kernels);
    }
    if (own == nullptr) {
        return kernel_sigaltstack(set, old);
    }
    const stack_t before = kernels_stack();
    const stack_t view = own->view_of(before);
    if (set != nullptr) {
        if (is_on(view, sp)) {
            return -EPERM;
        }
        // The kernel says what is valid. It has the program's stack until ours is back.
        if (const long result = kernel_sigaltstack(set, nullptr); result != 0) {
            return result;
        }
        if (is_sampled) {
            const stack_t ours = show_view(*own, as_view(kernels_stack()), before);
            kernel_sigaltstack(&ours, nullptr);
        } else {
            capture::free_signal_stack(*own);
        }
    }
    if (old != nullptr) {
        // By the kernel first, for the sake of an address where nothing can be written.
        if (const long result = kernel_sigaltstack(nullptr, old); result != 0) {
            return result;
        }
        const int state = view.ss_size == 0 ? SS_DISABLE : is_on(view, sp) ? SS_ONSTACK : 0;
        *old = {view.ss_sp, view.ss_flags | state, view.ss_size};
    }
    return 0;
}

}  // namespace

bool lies_on(const stack_t& view, std::uint64_t sp) noexcept {
    const auto low = reinterpret_cast<std::uint64_t>(view.ss_sp);
    return sp > low && sp - low <= view.ss_size;
}

bool is_on(const stack_t& view, std::uint64_t sp) noexcept {
    return (view.ss_flags & kAutodisarm) == 0 && lies_on(view, sp);
}

stack_t show_view(SignalStack& own, const stack_t& view, const stack_t& kernels) noexcept {
    for (std::size_t i = 0; i < own.used_views; ++i) {
        const stack_t& other = own.views[i];
        if (other.ss_sp == view.ss_sp && other.ss_size == view.ss_size &&
            other.ss_flags == view.ss_flags) {
            return own.as_kernels(i);
        }
    }
    // Where all are used: handlers that were entered so many stacks ago have returned.
    const std::size_t index = own.used_views < own.views.size()
                                  ? own.used_views++
                                  : (own.view_index(kernels) + 1) % own.views.size();
    own.views[index] = view;
    return own.as_kernels(index);
}

bool take_alternate_stack() noexcept {
    begin_relaying();
    const source::BlockedSignals blocked;
    const stack_t kernels = kernels_stack();
    return capture::find_signal_stack(kernels) != nullptr || (kernels.ss_flags & SS_ONSTACK) != 0 ||
           is_kept(kernels) || replace(kernels) != nullptr;
}

bool gives_alternate_stacks() noexcept {
    return g_is_given.load(std::memory_order_relaxed);
}

void stop_giving_alternate_stacks() noexcept {
    g_is_given.store(false, std::memory_order_relaxed);
}

void give_alternate_stack_back() noexcept {
    const source::BlockedSignals blocked;
    const stack_t kernels = kernels_stack();
    SignalStack* own = capture::find_signal_stack(kernels);
    if (own == nullptr) {
        return;
    }
    stack_t view = own->view_of(kernels);
    if (view.ss_size == 0) {
        view.ss_flags |= SS_DISABLE;
    }
    if (kernel_sigaltstack(&view, nullptr) == 0) {
        capture::free_signal_stack(*own);
    }
}

void alternate_stacks_after_fork() noexcept {
    capture::keep_one_signal_stack(capture::find_signal_stack(kernels_stack()),
                                   static_cast<std::uint32_t>(raw_syscall(SYS_gettid)));
}

void prepare_alternate_stacks() noexcept {
    if (!capture::has_spare_signal_stack()) {
        grow();
    }
}

long program_sigaltstack(const stack_t* set, stack_t* old, std::uint64_t sp) noexcept {
    if (capture::count_stack_slabs() == 0) {
        return kernel_sigaltstack(set, old);
    }
    if (!gives_alternate_stacks()) {
        // A filter may know no other call than the program's own.
        return exchange(set, old, sp);
    }
    const source::BlockedSignals blocked;
    return exchange(set, old, sp);
}

}  // namespace sample::agent
