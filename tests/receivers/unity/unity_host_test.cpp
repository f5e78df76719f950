// The host by itself, without an agent: what it tells whom, call by call. This program is the
// plug-in, by the interfaces that one lends it.
#include "sample/unity/IUnityMemoryManager.h"
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"
#include "sample/unity/host.h"
#include "tests/built.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace sample {
namespace {

using Lines = std::vector<std::string>;

const std::string lends = std::string{built::kUnityPlugins} + "/lends-gcc.so";

IUnityInterfaces& interfaces() {
    static IUnityInterfaces* const lent = [] {
        EXPECT_EQ(sample_unity_load(lends.c_str()), 0);
        void* const plugin = dlopen(lends.c_str(), RTLD_NOW | RTLD_NOLOAD);
        return *static_cast<IUnityInterfaces**>(dlsym(plugin, "lent_interfaces"));
    }();
    return *lent;
}

IUnityProfilerV2& profiler() {
    return *interfaces().Get<IUnityProfilerV2>();
}
IUnityProfilerCallbacksV2& callbacks() {
    return *interfaces().Get<IUnityProfilerCallbacksV2>();
}

const UnityProfilerMarkerDesc* make_marker(const char* name) {
    const UnityProfilerMarkerDesc* marker = nullptr;
    EXPECT_EQ(profiler().CreateMarker(&marker, name, kUnityProfilerCategoryOther, 0, 0), 0);
    return marker;
}

const char* word_of(UnityProfilerMarkerEventType type) {
    const char* const words[] = {"begin ", "end ", "single "};
    return words[type];
}

void note_event(const UnityProfilerMarkerDesc* marker, UnityProfilerMarkerEventType type,
                std::uint16_t count, const UnityProfilerMarkerData* /*data*/, void* user) {
    static_cast<Lines*>(user)->push_back(word_of(type) + std::string{marker->name} +
                                         (count == 0 ? "" : " " + std::to_string(count)));
}

TEST(UnityHost, has_no_interface_of_an_unknown_guid) {
    EXPECT_EQ(interfaces().GetInterface(UnityInterfaceGUID(1, 2)), nullptr);
    EXPECT_EQ(interfaces().GetInterfaceSplit(1, 2), nullptr);
}

TEST(UnityHost, finds_interfaces_by_value_and_by_reference) {
    using ByValue = void* (*)(std::uint64_t, std::uint64_t);
    const auto by_value =
        reinterpret_cast<ByValue>(reinterpret_cast<void*>(interfaces().GetInterface));
    IUnityProfiler* const found = interfaces().Get<IUnityProfiler>();
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(by_value(0x2CE79ED8316A4833, 0x87076B2013E1571F), found);
    EXPECT_EQ(interfaces().GetInterfaceSplit(0x2CE79ED8316A4833, 0x87076B2013E1571F), found);
    EXPECT_NE(static_cast<void*>(interfaces().Get<IUnityProfilerCallbacks>()),
              static_cast<void*>(interfaces().Get<IUnityProfilerCallbacksV2>()));
}

TEST(UnityHost, keeps_interfaces_of_plugins) {
    IUnityInterface own;
    IUnityInterface of_c;
    interfaces().RegisterInterface(UnityInterfaceGUID(0x1111222233334444, 0x5555), &own);
    using ByValue = void (*)(std::uint64_t, std::uint64_t, void*);
    reinterpret_cast<ByValue>(reinterpret_cast<void*>(interfaces().RegisterInterface))(
        0x9999222233334444, 0x6666, &of_c);
    EXPECT_EQ(interfaces().GetInterfaceSplit(0x1111222233334444, 0x5555), &own);
    EXPECT_EQ(interfaces().GetInterface(UnityInterfaceGUID(0x9999222233334444, 0x6666)), &of_c);
    interfaces().RegisterInterfaceSplit(0x1111222233334444, 0x5555, nullptr);
    EXPECT_EQ(interfaces().GetInterfaceSplit(0x1111222233334444, 0x5555), nullptr);
}

TEST(UnityHost, tells_events_in_order) {
    const UnityProfilerMarkerDesc* const outer = make_marker("order outer");
    const UnityProfilerMarkerDesc* const inner = make_marker("order inner");
    Lines lines;
    EXPECT_EQ(outer->callback, nullptr);
    ASSERT_EQ(callbacks().RegisterMarkerEventCallback(outer, note_event, &lines), 0);
    ASSERT_EQ(callbacks().RegisterMarkerEventCallback(inner, note_event, &lines), 0);
    EXPECT_NE(outer->callback, nullptr);
    EXPECT_EQ(profiler().IsEnabled(), 1);
    const std::int32_t value = 1;
    const UnityProfilerMarkerData data{kUnityProfilerMarkerDataTypeInt32, 0, 0, sizeof value,
                                       &value};
    profiler().BeginSample(outer);
    profiler().BeginSample(inner, 1, &data);
    profiler().EmitEvent(inner, kUnityProfilerMarkerEventTypeSingle, 0, nullptr);
    profiler().EndSample(inner);
    profiler().EndSample(outer);
    profiler().EndSample(outer);  // One that has not begun.
    EXPECT_EQ(callbacks().UnregisterMarkerEventCallback(nullptr, note_event, &lines), 0);
    profiler().BeginSample(outer);
    EXPECT_EQ(lines, (Lines{"begin order outer", "begin order inner 1", "single order inner",
                            "end order inner", "end order outer"}));
    EXPECT_EQ(outer->callback, nullptr);
    EXPECT_EQ(profiler().IsEnabled(), 0);
}

TEST(UnityHost, tells_no_end_of_what_began_before_the_registration) {
    const UnityProfilerMarkerDesc* const marker = make_marker("late");
    Lines early;
    Lines late;
    callbacks().RegisterMarkerEventCallback(marker, note_event, &early);
    profiler().BeginSample(marker);
    callbacks().RegisterMarkerEventCallback(marker, note_event, &late);
    profiler().BeginSample(marker);
    profiler().EndSample(marker);
    profiler().EndSample(marker);
    callbacks().UnregisterMarkerEventCallback(nullptr, note_event, nullptr);
    EXPECT_EQ(early, (Lines{"begin late", "begin late", "end late", "end late"}));
    EXPECT_EQ(late, (Lines{"begin late", "end late"}));
}

TEST(UnityHost, takes_at_most_four_of_a_kind) {
    const UnityProfilerMarkerDesc* const marker = make_marker("four");
    std::array<Lines, 5> lines;
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(callbacks().RegisterMarkerEventCallback(marker, note_event, &lines[i]), 0);
    }
    EXPECT_NE(callbacks().RegisterMarkerEventCallback(marker, note_event, &lines[4]), 0);
    profiler().EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, nullptr);
    // One by one, those of one datum, and all.
    EXPECT_EQ(callbacks().UnregisterMarkerEventCallback(marker, note_event, &lines[0]), 0);
    EXPECT_NE(callbacks().UnregisterMarkerEventCallback(marker, note_event, &lines[0]), 0);
    EXPECT_EQ(callbacks().UnregisterMarkerEventCallback(nullptr, note_event, &lines[1]), 0);
    profiler().EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, nullptr);
    EXPECT_EQ(callbacks().UnregisterMarkerEventCallback(nullptr, note_event, nullptr), 0);
    profiler().EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, nullptr);
    EXPECT_NE(callbacks().UnregisterMarkerEventCallback(nullptr, note_event, nullptr), 0);
    EXPECT_EQ(lines[0].size(), 1U);
    EXPECT_EQ(lines[1].size(), 1U);
    EXPECT_EQ(lines[2].size(), 2U);
    EXPECT_EQ(lines[3].size(), 2U);
    EXPECT_EQ(lines[4].size(), 0U);

    const auto on_frame = [](void* user) { ++*static_cast<int*>(user); };
    std::array<int, 5> frames{};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(callbacks().RegisterFrameCallback(on_frame, &frames[i]) == 0, i < 4);
    }
    sample_unity_next_frame();
    for (int& each : frames) {
        callbacks().UnregisterFrameCallback(on_frame, &each);
    }
    sample_unity_next_frame();
    EXPECT_EQ(frames, (std::array<int, 5>{1, 1, 1, 1, 0}));
}

struct Replay {
    Lines lines;
    std::vector<std::uint32_t> ids;
    int made = 0;
};

TEST(UnityHost, tells_what_was_there_before_and_what_comes_in_order) {
    make_marker("there before");
    Replay replay;
    const auto on_marker = [](const UnityProfilerMarkerDesc* marker, void* user) {
        auto& to = *static_cast<Replay*>(user);
        to.ids.push_back(marker->id);
        to.lines.emplace_back(marker->name);
        if (to.made++ == 0) {
            make_marker("made inside");
        }
    };
    ASSERT_EQ(callbacks().RegisterCreateMarkerCallback(on_marker, &replay), 0);
    make_marker("made after");
    make_marker("made after");  // There is one already.
    EXPECT_EQ(callbacks().UnregisterCreateMarkerCallback(on_marker, &replay), 0);
    make_marker("made when gone");
    for (std::size_t i = 0; i < replay.ids.size(); ++i) {
        EXPECT_EQ(replay.ids[i], i);
    }
    ASSERT_GE(replay.lines.size(), 3U);
    const Lines last{replay.lines.end() - 3, replay.lines.end()};
    EXPECT_EQ(last, (Lines{"there before", "made inside", "made after"}));
    EXPECT_EQ(replay.lines[0], "Profiler.Default");
    EXPECT_EQ(replay.lines[1], "GC.Alloc");
    EXPECT_EQ(replay.lines[2], "GC.Collect");
}

TEST(UnityHost, numbers_categories_from_0_on) {
    struct Seen {
        std::vector<std::uint16_t> ids;
        Lines names;
    } seen;
    const auto on_category = [](const UnityProfilerCategoryDesc* category, void* user) {
        auto& to = *static_cast<Seen*>(user);
        to.ids.push_back(category->id);
        to.names.emplace_back(category->name);
        EXPECT_EQ(category->rgbaColor & 0xffU, 0xffU);
    };
    ASSERT_EQ(callbacks().RegisterCreateCategoryCallback(on_category, &seen), 0);
    UnityProfilerCategoryId own = 0;
    EXPECT_EQ(profiler().CreateCategory(&own, "Own", 0), 0);
    UnityProfilerCategoryId again = 0;
    EXPECT_EQ(profiler().CreateCategory(&again, "Own", 0), 0);
    EXPECT_EQ(callbacks().UnregisterCreateCategoryCallback(on_category, &seen), 0);
    EXPECT_EQ(own, again);
    for (std::size_t i = 0; i < seen.ids.size(); ++i) {
        EXPECT_EQ(seen.ids[i], i);
    }
    ASSERT_GT(seen.names.size(), 39U);
    EXPECT_EQ(seen.names[kUnityProfilerCategoryPhysics], "Physics");
    EXPECT_EQ(seen.names[kUnityProfilerCategoryText], "Text");
    EXPECT_EQ(seen.names.back(), "Own");
}

TEST(UnityHost, tells_category_and_flags_of_a_marker_by_a_description_that_stays) {
    constexpr UnityProfilerMarkerFlags kFlags = kUnityProfilerMarkerFlagAvailabilityEditor |
                                                kUnityProfilerMarkerFlagVerbosityInternal |
                                                kUnityProfilerMarkerFlagWarning;
    const auto on_marker = [](const UnityProfilerMarkerDesc* marker, void* user) {
        *static_cast<const UnityProfilerMarkerDesc**>(user) = marker;
    };
    const UnityProfilerMarkerDesc* told = nullptr;
    ASSERT_EQ(callbacks().RegisterCreateMarkerCallback(on_marker, &told), 0);
    const UnityProfilerMarkerDesc* made = nullptr;
    ASSERT_EQ(profiler().CreateMarker(&made, "flagged", kUnityProfilerCategoryAudio, kFlags, 0), 0);
    EXPECT_EQ(callbacks().UnregisterCreateMarkerCallback(on_marker, &told), 0);
    ASSERT_EQ(told, made);
    EXPECT_STREQ(told->name, "flagged");
    EXPECT_EQ(told->categoryId, kUnityProfilerCategoryAudio);
    EXPECT_EQ(told->flags, kFlags);
    // The next registration is told of it by the same one.
    told = nullptr;
    ASSERT_EQ(callbacks().RegisterCreateMarkerCallback(on_marker, &told), 0);
    EXPECT_EQ(callbacks().UnregisterCreateMarkerCallback(on_marker, &told), 0);
    EXPECT_EQ(told, made);
}

TEST(UnityHost, tells_threads_by_name) {
    Lines lines;
    const auto on_thread = [](const UnityProfilerThreadDesc* thread, void* user) {
        static_cast<Lines*>(user)->push_back(std::string{thread->groupName} + "/" + thread->name);
    };
    ASSERT_EQ(callbacks().RegisterCreateThreadCallback(on_thread, &lines), 0);
    std::thread{[] {
        UnityProfilerThreadId id = 0;
        EXPECT_EQ(profiler().RegisterThread(&id, "Jobs", "Worker 1"), 0);
        EXPECT_NE(id, 0U);
        EXPECT_EQ(profiler().UnregisterThread(0), 0);
    }}.join();
    EXPECT_EQ(callbacks().UnregisterCreateThreadCallback(on_thread, &lines), 0);
    EXPECT_EQ(lines, (Lines{"/Main Thread", "Jobs/Worker 1"}));
}

TEST(UnityHost, callback_may_unregister_itself_and_the_others) {
    const UnityProfilerMarkerDesc* const marker = make_marker("inside");
    static int calls = 0;
    const auto once = [](const UnityProfilerMarkerDesc* desc, UnityProfilerMarkerEventType /*type*/,
                         std::uint16_t /*count*/, const UnityProfilerMarkerData* /*data*/,
                         void* user) {
        ++calls;
        callbacks().UnregisterMarkerEventCallback(nullptr, note_event, nullptr);
        EXPECT_EQ(callbacks().UnregisterMarkerEventCallback(desc, nullptr, user), 1);
    };
    Lines lines;
    callbacks().RegisterMarkerEventCallback(marker, once, nullptr);
    callbacks().RegisterMarkerEventCallback(marker, note_event, &lines);
    profiler().EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, nullptr);
    callbacks().UnregisterMarkerEventCallback(nullptr, once, nullptr);
    profiler().EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, nullptr);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(lines, Lines{});
}

TEST(UnityHost, what_is_said_inside_a_callback_is_told_to_nobody) {
    static const UnityProfilerMarkerDesc* const marker = make_marker("recursive");
    static int calls = 0;
    const auto recursive = [](const UnityProfilerMarkerDesc* /*desc*/,
                              UnityProfilerMarkerEventType /*type*/, std::uint16_t /*count*/,
                              const UnityProfilerMarkerData* /*data*/, void* /*user*/) {
        ++calls;
        profiler().BeginSample(marker);
        profiler().EndSample(marker);
    };
    callbacks().RegisterMarkerEventCallback(marker, recursive, nullptr);
    profiler().BeginSample(marker);
    profiler().EndSample(marker);
    callbacks().UnregisterMarkerEventCallback(nullptr, recursive, nullptr);
    EXPECT_EQ(calls, 2);
}

TEST(UnityHost, unregistering_waits_for_a_callback_of_another_thread) {
    const UnityProfilerMarkerDesc* const marker = make_marker("slow");
    struct Slow {
        std::atomic<bool> is_inside{false};
        std::atomic<bool> is_over{false};
    } slow;
    const auto on_event = [](const UnityProfilerMarkerDesc* /*desc*/,
                             UnityProfilerMarkerEventType /*type*/, std::uint16_t /*count*/,
                             const UnityProfilerMarkerData* /*data*/, void* user) {
        auto& to = *static_cast<Slow*>(user);
        to.is_inside = true;
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        to.is_over = true;
    };
    callbacks().RegisterMarkerEventCallback(marker, on_event, &slow);
    std::thread thread{
        [&] { profiler().EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, nullptr); }};
    while (!slow.is_inside) {
        std::this_thread::yield();
    }
    callbacks().UnregisterMarkerEventCallback(marker, on_event, &slow);
    EXPECT_TRUE(slow.is_over);
    thread.join();
}

bool g_signals_itself = false;
bool g_is_handled = false;
bool g_was_handled_at_once = false;

// Before the host's, so that a fork calls it behind the host's.
void watch_forks_before_the_host() {
    pthread_atfork(
        [] {
            if (g_signals_itself) {
                std::raise(SIGUSR1);
                g_was_handled_at_once = g_is_handled;
            }
        },
        nullptr, nullptr);
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const g_first_of_all)() = watch_forks_before_the_host;

bool is_blocked(int signal) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return sigismember(&blocked, signal) == 1;
}

TEST(UnityHost, handlers_of_signals_wait_until_a_fork_has_let_the_host_go) {
    std::signal(SIGUSR1, [](int /*signal*/) {
        g_is_handled = true;
        make_marker("of a handler");
    });
    g_signals_itself = true;
    const pid_t child = fork();
    if (child == 0) {
        _exit(is_blocked(SIGUSR1) ? 1 : 0);
    }
    g_signals_itself = false;
    std::signal(SIGUSR1, SIG_DFL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(g_was_handled_at_once);
    EXPECT_TRUE(g_is_handled);
    EXPECT_FALSE(is_blocked(SIGUSR1));
}

TEST(UnityHost, counters_are_flushed_by_call_and_by_frame) {
    static Lines states;
    const auto state = [](void* user) { states.emplace_back(static_cast<const char*>(user)); };
    char activated[] = "activated";
    auto* const value = static_cast<std::int64_t*>(profiler().CreateCounterValue(
        kUnityProfilerCategoryMemory, "flushed", kUnityProfilerMarkerFlagCounter,
        kUnityProfilerMarkerDataTypeInt64, kUnityProfilerMarkerDataUnitBytes, 8,
        kUnityProfilerCounterFlushOnEndOfFrame | kUnityProfilerCounterFlagResetToZeroOnFlush, state,
        nullptr, activated));
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(states, Lines{"activated"});
    std::vector<std::int64_t> heard;
    const auto on_event = [](const UnityProfilerMarkerDesc* desc, UnityProfilerMarkerEventType type,
                             std::uint16_t count, const UnityProfilerMarkerData* data, void* user) {
        EXPECT_STREQ(desc->name, "flushed");
        EXPECT_EQ(type, kUnityProfilerMarkerEventTypeSingle);
        ASSERT_EQ(count, 1);
        EXPECT_EQ(data->type, kUnityProfilerMarkerDataTypeInt64);
        static_cast<std::vector<std::int64_t>*>(user)->push_back(
            *static_cast<const std::int64_t*>(data->ptr));
    };
    const UnityProfilerMarkerDesc* marker = nullptr;
    profiler().CreateMarker(&marker, "flushed", kUnityProfilerCategoryMemory,
                            kUnityProfilerMarkerFlagCounter, 1);
    callbacks().RegisterMarkerEventCallback(marker, on_event, &heard);
    *value = 5;
    profiler().FlushCounterValue(value);
    *value += 7;
    sample_unity_next_frame();
    sample_unity_next_frame();
    callbacks().UnregisterMarkerEventCallback(marker, on_event, &heard);
    EXPECT_EQ(heard, (std::vector<std::int64_t>{5, 7, 0}));
    EXPECT_EQ(profiler().CreateCounterValue(0, "too wide", 0, kUnityProfilerMarkerDataTypeString, 0,
                                            16, 0, nullptr, nullptr, nullptr),
              nullptr);
}

TEST(UnityHost, memory_is_aligned_and_moves_whole) {
    IUnityMemoryManager& memory = *interfaces().Get<IUnityMemoryManager>();
    UnityAllocator* const allocator = memory.CreateAllocator("area", "object");
    auto* block = static_cast<char*>(memory.Allocate(allocator, 10, 256, __FILE__, __LINE__));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0U);
    block[9] = 'x';
    block =
        static_cast<char*>(memory.Reallocate(allocator, block, 100'000, 4096, __FILE__, __LINE__));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0U);
    EXPECT_EQ(block[9], 'x');
    memory.Deallocate(allocator, block, __FILE__, __LINE__);
    EXPECT_EQ(memory.Allocate(allocator, 10, 24, __FILE__, __LINE__), nullptr);
    memory.DestroyAllocator(allocator);
}

bool is_mapped(const std::string& path) {
    void* const found = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (found != nullptr) {
        dlclose(found);
    }
    return found != nullptr;
}

TEST(UnityHost, loads_once_and_unloads_with_the_last_use) {
    const std::string path = std::string{built::kUnityPlugins} + "/says_cpp-gcc.so";
    EXPECT_EQ(sample_unity_load(path.c_str()), 0);
    EXPECT_EQ(sample_unity_load(path.c_str()), 0);
    EXPECT_EQ(sample_unity_unload(path.c_str()), 0);
    EXPECT_TRUE(is_mapped(path));
    EXPECT_EQ(sample_unity_unload(path.c_str()), 0);
    EXPECT_FALSE(is_mapped(path));
    EXPECT_NE(sample_unity_unload(path.c_str()), 0);
    EXPECT_NE(sample_unity_load("/nowhere/there.so"), 0);
}

TEST(UnityHost, removes_callbacks_that_a_plugin_has_left) {
    const std::string path = std::string{built::kUnityPlugins} + "/leaves_callbacks-gcc.so";
    const UnityProfilerMarkerDesc* const marker = make_marker("left");
    ASSERT_EQ(sample_unity_load(path.c_str()), 0);
    EXPECT_NE(marker->callback, nullptr);
    testing::internal::CaptureStderr();
    ASSERT_EQ(sample_unity_unload(path.c_str()), 0);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("has left callbacks registered"),
              std::string::npos);
    EXPECT_FALSE(is_mapped(path));
    EXPECT_EQ(marker->callback, nullptr);
    profiler().BeginSample(marker);
    profiler().EndSample(marker);
    make_marker("after it has gone");
}

TEST(UnityHost, counters_of_a_plugin_end_with_it_and_come_again) {
    const std::string path = std::string{built::kUnityPlugins} + "/leaves_counter-gcc.so";
    const UnityProfilerMarkerDesc* marker = nullptr;
    profiler().CreateMarker(&marker, "left counter", kUnityProfilerCategoryOther,
                            kUnityProfilerMarkerFlagCounter, 1);
    Lines lines;
    callbacks().RegisterMarkerEventCallback(marker, note_event, &lines);
    testing::internal::CaptureStdout();
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(sample_unity_load(path.c_str()), 0);
        sample_unity_next_frame();
        ASSERT_EQ(sample_unity_unload(path.c_str()), 0);
        sample_unity_next_frame();
    }
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "value 0\nvalue 0\n");
    callbacks().UnregisterMarkerEventCallback(marker, note_event, &lines);
    EXPECT_EQ(lines, (Lines{"single left counter 1", "single left counter 1"}));
}

TEST(UnityHost, plugin_stays_mapped_while_a_callback_of_it_runs) {
    const std::string path = std::string{built::kUnityPlugins} + "/lingers_in_callback-gcc.so";
    ASSERT_EQ(sample_unity_load(path.c_str()), 0);
    void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto& has_come = *static_cast<std::atomic<bool>*>(dlsym(plugin, "has_come"));
    auto& may_go = *static_cast<std::atomic<bool>*>(dlsym(plugin, "may_go"));
    dlclose(plugin);
    std::thread thread{sample_unity_next_frame};
    while (!has_come) {
        std::this_thread::yield();
    }
    testing::internal::CaptureStderr();
    EXPECT_EQ(sample_unity_unload(path.c_str()), 0);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("stays in memory"), std::string::npos);
    ASSERT_TRUE(is_mapped(path));
    may_go = true;
    thread.join();
}

TEST(UnityHost, plugin_that_is_unloaded_inside_a_callback_stays_mapped) {
    static const std::string path = std::string{built::kUnityPlugins} + "/has_no_unload-gcc.so";
    ASSERT_EQ(sample_unity_load(path.c_str()), 0);
    const auto on_frame = [](void* /*user*/) {
        EXPECT_EQ(sample_unity_unload(path.c_str()), 0);
        EXPECT_TRUE(is_mapped(path));
    };
    callbacks().RegisterFrameCallback(on_frame, nullptr);
    sample_unity_next_frame();
    callbacks().UnregisterFrameCallback(on_frame, nullptr);
}

}  // namespace
}  // namespace sample
