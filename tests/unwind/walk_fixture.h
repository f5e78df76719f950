// What every walking test needs: this process's modules, a cache, and a walk of the own stack from
// where the caller stands. Header-only; a test program includes it once.
#pragma once

#include "bench/unwind/loaded_modules.h"
#include "unwind/walk/ucontext.h"
#include "unwind/walk/walk.h"

#include <pthread.h>
#include <ucontext.h>

#include <array>
#include <memory>
#include <vector>

namespace sample::unwind::testing {

/// The current thread's stack, by the pthread library.
inline StackBounds stack_bounds() {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    const auto begin = reinterpret_cast<std::uint64_t>(low);
    return StackBounds{begin, begin + size};
}

struct Walked {
    WalkResult result;
    std::vector<FrameAddress> frames;
    std::uint32_t probes = 0;
};

class Tables {
public:
    explicit Tables(LoaderLookup loader = LoaderLookup::ask)
        : modules_{loaded_modules()},
          table_{modules_, 1, loader},
          storage_{std::make_unique<std::array<RowCache::Entry, kEntries>>()},
          cache_{*storage_} {}

    /// Walks with `out` as room; allocates nothing, so that handlers can use it.
    [[gnu::noinline]] WalkResult walk(const Registers& registers, StackMemory& memory,
                                      std::span<FrameAddress> out) noexcept {
        return unwind::walk(table_, cache_, registers, memory, out);
    }
    Walked walk(const Registers& registers, StackMemory memory, std::size_t depth = 4096) {
        Walked walked;
        walked.frames.resize(depth);
        walked.result = walk(registers, memory, std::span{walked.frames});
        walked.frames.resize(walked.result.depth);
        walked.probes = memory.probes();
        return walked;
    }

    [[nodiscard]] const ModuleTable& modules() const { return table_; }
    [[nodiscard]] RowCache& cache() { return cache_; }

private:
    static constexpr std::size_t kEntries = 16384;

    std::vector<Module> modules_;
    ModuleTable table_;
    std::unique_ptr<std::array<RowCache::Entry, kEntries>> storage_;
    RowCache cache_;
};

/// Where the function of a frame begins, by the unwind tables: comparable to the address of a
/// function of this program. 0 if no table covers it.
inline std::uint64_t function_of(const ModuleTable& modules, FrameAddress frame) {
    const Module* module = modules.find(frame.lookup_pc());
    cfi::Fde fde;
    if (module == nullptr ||
        cfi::find_fde(module->local_tables(), frame.lookup_pc().value + module->image_delta, fde) !=
            cfi::Found::yes) {
        return 0;
    }
    return fde.pc_begin - module->image_delta;
}

/// How often `function` is on a stack.
template <class Function>
std::size_t count_of(const Tables& tables, const Walked& walked, Function* function) {
    std::size_t count = 0;
    for (const FrameAddress frame : walked.frames) {
        count += function_of(tables.modules(), frame) == reinterpret_cast<std::uint64_t>(function)
                     ? 1
                     : 0;
    }
    return count;
}

}  // namespace sample::unwind::testing

/// Walks the own stack from the function it is expanded in: a caller's frame would be gone.
#define SAMPLE_WALK_HERE(walked, tables)                                                        \
    do {                                                                                        \
        ucontext_t here_context;                                                                \
        getcontext(&here_context);                                                              \
        (walked) = (tables).walk(                                                               \
            ::sample::unwind::registers_of(here_context),                                       \
            ::sample::unwind::StackMemory::live(::sample::unwind::testing::stack_bounds(),      \
                                                ::sample::unwind::StackMemory::Outside::fail)); \
    } while (false)
