// Walks of this program's own stacks, through code as compilers and the C library made it.
#include "tests/built.h"
#include "tests/unwind/targets/plugin.h"
#include "tests/unwind/walk_fixture.h"

#include <alloca.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace sample::unwind::testing {
namespace {

// The walked functions keep their frames: never inlined, and with work after each call.
#define SAMPLE_FRAME [[gnu::noinline]]

Walked walked;
Tables* tables = nullptr;
volatile int sink = 0;

class WalkLive : public ::testing::Test {
protected:
    void SetUp() override {
        tables_ = std::make_unique<Tables>();
        tables = tables_.get();
        walked = Walked{};
    }
    /// Reached the root, without asking the kernel for anything.
    static void expect_whole() {
        EXPECT_EQ(walked.result.reason, StopReason::root);
        EXPECT_EQ(walked.probes, 0U);
    }

private:
    std::unique_ptr<Tables> tables_;
};

SAMPLE_FRAME void leaf() {
    SAMPLE_WALK_HERE(walked, *tables);
    sink = sink + 1;
}

SAMPLE_FRAME int recurse(int depth) {
    if (depth == 0) {
        leaf();
        return 0;
    }
    const int result = recurse(depth - 1) + depth;
    sink = result;
    return result;
}

TEST_F(WalkLive, sees_every_frame_of_a_deep_recursion) {
    recurse(200);
    expect_whole();
    EXPECT_EQ(count_of(*tables, walked, &recurse), 201U);
    EXPECT_EQ(count_of(*tables, walked, &leaf), 1U);
    EXPECT_TRUE(walked.frames.front().is_exact());
    EXPECT_FALSE(walked.frames.back().is_exact());
}

TEST_F(WalkLive, compiles_each_rule_once) {
    recurse(200);
    EXPECT_LT(walked.result.rows_compiled, 100U);
    const std::uint32_t first = walked.result.rows_compiled;
    EXPECT_GT(first, 3U);
    // Few, not none: the call is another one, and where the modules lie decides which of the
    // stack's pcs share an entry of the cache.
    recurse(200);
    EXPECT_LE(walked.result.rows_compiled, first / 2);
}

SAMPLE_FRAME int with_alloca(std::size_t size) {
    auto* bytes = static_cast<unsigned char*>(alloca(size));
    std::memset(bytes, 1, size);
    leaf();
    sink = bytes[size / 2];
    return sink;
}

TEST_F(WalkLive, passes_frames_of_a_size_known_only_at_run_time) {
    for (const std::size_t size : {16U, 1000U, 70000U}) {
        with_alloca(size);
        expect_whole();
        EXPECT_EQ(count_of(*tables, walked, &with_alloca), 1U);
    }
}

SAMPLE_FRAME int realigned(std::size_t size) {
    alignas(64) std::array<unsigned char, 128> aligned{};
    auto* bytes = static_cast<unsigned char*>(alloca(size));
    bytes[0] = static_cast<unsigned char>(size);
    asm volatile("" : : "r"(aligned.data()), "r"(bytes) : "memory");
    leaf();
    sink = aligned[5] + bytes[0];
    return sink;
}

TEST_F(WalkLive, passes_frames_that_have_realigned_the_stack) {
    realigned(100);
    expect_whole();
    EXPECT_EQ(count_of(*tables, walked, &realigned), 1U);
}

int compare_ints(const void* left, const void* right) {
    leaf();
    return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

TEST_F(WalkLive, passes_the_c_library_on_the_way_to_a_callback) {
    std::array<int, 4> values{3, 1, 2, 0};
    std::qsort(values.data(), values.size(), sizeof(int), compare_ints);
    expect_whole();
    EXPECT_EQ(count_of(*tables, walked, &compare_ints), 1U);
}

struct WalksWhenDestroyed {
    ~WalksWhenDestroyed() { leaf(); }
};

SAMPLE_FRAME int throws(int depth) {
    const WalksWhenDestroyed guard;
    if (depth == 0) {
        throw std::runtime_error("thrown by a test");
    }
    return throws(depth - 1) + 1;
}

TEST_F(WalkLive, works_while_an_exception_unwinds_and_after_it) {
    try {
        throws(3);
        FAIL();
    } catch (const std::runtime_error&) {
        // The last destructor ran in the outermost throws(), or in its cold part.
        expect_whole();
        leaf();
    }
    expect_whole();
    EXPECT_EQ(count_of(*tables, walked, &throws), 0U);
}

TEST_F(WalkLive, reaches_the_start_of_a_thread) {
    std::thread thread{[] { recurse(10); }};
    thread.join();
    expect_whole();
    EXPECT_EQ(count_of(*tables, walked, &recurse), 11U);
}

void call_leaf() {
    leaf();
    sink = sink + 1;
}

class Plugin {
public:
    Plugin() : handle_{dlopen(built::kPlugin, RTLD_NOW | RTLD_LOCAL)} {}
    ~Plugin() { dlclose(handle_); }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    [[nodiscard]] PluginCall* call() const {
        return reinterpret_cast<PluginCall*>(dlsym(handle_, "plugin_call"));
    }

private:
    void* handle_;
};

TEST_F(WalkLive, finds_a_library_that_was_loaded_after_the_table_was_made) {
    const Plugin plugin;
    ASSERT_NE(plugin.call(), nullptr) << dlerror();
    plugin.call()(call_leaf);
    expect_whole();

    Tables closed{LoaderLookup::off};  // Made with the library in it …
    tables = &closed;
    plugin.call()(call_leaf);
    expect_whole();
}

TEST_F(WalkLive, has_no_rules_of_a_library_that_it_may_not_ask_about) {
    Tables closed{LoaderLookup::off};
    tables = &closed;
    const Plugin plugin;
    ASSERT_NE(plugin.call(), nullptr) << dlerror();
    plugin.call()(call_leaf);
#ifndef SAMPLE_SANITIZED
    // A sanitizer's build keeps frame pointers, which lead on without rules.
    EXPECT_TRUE(walked.result.reason == StopReason::no_module || walked.result.guessed > 0)
        << static_cast<int>(walked.result.reason);
#endif
}

TEST_F(WalkLive, reads_no_tables_of_a_library_that_is_gone) {
    std::unique_ptr<Tables> with_plugin;
    Registers registers{};
    {
        const Plugin plugin;
        with_plugin = std::make_unique<Tables>();
        registers.value[Registers::kPc] = reinterpret_cast<std::uint64_t>(plugin.call());
    }
    registers.value[Registers::kSp] = stack_bounds().high - 64;
    const Walked gone =
        with_plugin->walk(registers, StackMemory::live(stack_bounds(), StackMemory::Outside::fail));
    EXPECT_EQ(gone.result.reason, StopReason::no_module);
}

/// With such a library no process ends in order: what its file lost is gone from memory, too.
void walk_a_library_whose_file_was_cut() {
    namespace fs = std::filesystem;
    const fs::path path = fs::path{::testing::TempDir()} / ("cut_" + std::to_string(getpid()));
    const auto copy = [&path] {
        fs::copy_file(built::kPlugin, path, fs::copy_options::overwrite_existing);
    };
    copy();
    void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    Tables with_plugin;
    Registers registers{};
    registers.value[Registers::kPc] = reinterpret_cast<std::uint64_t>(dlsym(plugin, "plugin_call"));
    registers.value[Registers::kSp] = stack_bounds().high - 64;
    const Module* const module = with_plugin.modules().find(Pc{registers.pc()});
    ASSERT_NE(module, nullptr);
    const auto walk = [&registers](Tables& by) {
        return by.walk(registers, StackMemory::live(stack_bounds(), StackMemory::Outside::probe))
            .result.reason;
    };
    // Linkers put a library's code where it is in the file.
    fs::resize_file(path, module->code.end - module->span.begin);
    EXPECT_EQ(walk(with_plugin), StopReason::unreadable_memory);
    EXPECT_EQ(walk(*tables), StopReason::unreadable_memory) << "by the loader";
    copy();
    EXPECT_NE(walk(with_plugin), StopReason::unreadable_memory) << "nothing was kept of that";
    fs::remove(path);
}

TEST_F(WalkLive, reads_no_tables_of_a_library_whose_file_was_cut) {
    EXPECT_EXIT((walk_a_library_whose_file_was_cut(), _exit(HasFailure() ? 1 : 0)),
                ::testing::ExitedWithCode(0), "");
}

TEST_F(WalkLive, reaches_the_root_from_a_constructor_that_the_loader_runs) {
    EXPECT_EQ(preloaded_result().reason, StopReason::root);
    EXPECT_GE(preloaded_result().depth, 3U);
}

#if !defined(SAMPLE_SANITIZED)
// Copying other functions' frames is what sanitizers are there to prevent.
SAMPLE_FRAME void compare_with_copy() {
    ucontext_t context;
    getcontext(&context);
    const StackBounds bounds = stack_bounds();
    const Registers registers = registers_of(context);
    std::vector<std::byte> copy(bounds.high - registers.sp());
    std::memcpy(copy.data(), reinterpret_cast<const void*>(registers.sp()), copy.size());
    const Walked live =
        tables->walk(registers, StackMemory::live(bounds, StackMemory::Outside::fail));
    walked = tables->walk(registers, StackMemory::recorded(registers.sp(), copy));
    EXPECT_EQ(walked.frames, live.frames);
}

TEST_F(WalkLive, walks_a_copied_stack_as_the_live_one) {
    compare_with_copy();
    expect_whole();
    EXPECT_EQ(count_of(*tables, walked, &compare_with_copy), 1U);
}
#endif

TEST_F(WalkLive, needs_no_bounds_if_it_may_ask_the_kernel) {
    ucontext_t context;
    getcontext(&context);
    const Walked probed =
        tables->walk(registers_of(context), StackMemory::live({}, StackMemory::Outside::probe));
    EXPECT_EQ(probed.result.reason, StopReason::root);
    EXPECT_GT(probed.probes, 0U);
}

/// A word of the kind that corrupt registers hold: anything, or close to something real.
std::uint64_t odd_word(std::mt19937_64& random, const Registers& real) {
    switch (random() % 6) {
        case 0:
            return random();
        case 1:
            return random() >> 17;
        case 2:
            return real.sp() + random() % 4096;
        case 3:
            return real.pc() + random() % 65536 - 32768;
        case 4: {
            const auto modules = tables->modules().modules();
            const Module& module = modules[random() % modules.size()];
            return module.code.begin + random() % (module.code.end - module.code.begin + 1);
        }
        default:
            return ~std::uint64_t{0} - random() % 64;
    }
}

TEST_F(WalkLive, survives_garbage_in_every_register) {
    ucontext_t context;
    getcontext(&context);
    const Registers real = registers_of(context);
    const StackBounds bounds = stack_bounds();
    std::mt19937_64 random{20240229};
    std::array<std::size_t, 7> reasons{};
    for (int i = 0; i < 50000; ++i) {
        Registers registers = real;
        for (std::uint64_t& value : registers.value) {
            value = random() % 3 == 0 ? value : odd_word(random, real);
        }
        const bool probe = i % 4 == 0;
        const Walked garbage = tables->walk(
            registers,
            StackMemory::live(probe ? StackBounds{} : bounds,
                              probe ? StackMemory::Outside::probe : StackMemory::Outside::fail),
            256);
        ++reasons[static_cast<std::size_t>(garbage.result.reason)];
    }
    EXPECT_GT(reasons[static_cast<std::size_t>(StopReason::no_module)], 0U);
    EXPECT_GT(reasons[static_cast<std::size_t>(StopReason::unreadable_memory)], 0U);
    EXPECT_GT(reasons[static_cast<std::size_t>(StopReason::no_progress)], 0U);
}

}  // namespace
}  // namespace sample::unwind::testing
