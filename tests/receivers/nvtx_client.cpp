// Says things by NVTX: it has in itself what programs have of NVTX's headers, and says each thing a
// number of times that the test knows.
//
// usage: nvtx_client say|attack|many
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

using Function = void (*)();

constexpr unsigned kCoreCount = 16;
constexpr unsigned kSyncCount = 7;
Function g_core[kCoreCount];
Function g_core2[kCoreCount];
Function g_sync[kSyncCount];
Function* g_core_places[kCoreCount];
Function* g_core2_places[kCoreCount];
Function* g_sync_places[kSyncCount];

int get_functions(std::uint32_t module, Function*** places, unsigned* count) {
    switch (module) {
        case 1:
            *places = g_core_places;
            *count = kCoreCount;
            return 1;
        case 5:
            *places = g_core2_places;
            *count = kCoreCount;
            return 1;
        case 6:
            *places = g_sync_places;
            *count = kSyncCount;
            return 1;
        default:
            return 0;
    }
}

const void* get_table(std::uint32_t number) {
    static const struct {
        std::size_t bytes;
        int (*get_functions)(std::uint32_t, Function***, unsigned*);
    } callbacks = {sizeof callbacks, get_functions};
    return number == 1 ? &callbacks : nullptr;
}

void load() {
    for (unsigned i = 0; i < kCoreCount; ++i) {
        g_core_places[i] = &g_core[i];
        g_core2_places[i] = &g_core2[i];
    }
    for (unsigned i = 0; i < kSyncCount; ++i) {
        g_sync_places[i] = &g_sync[i];
    }
    const char* const path = std::getenv("NVTX_INJECTION64_PATH");
    void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
    if (library != nullptr) {
        reinterpret_cast<int (*)(const void* (*)(std::uint32_t))>(
            dlsym(library, "InitializeInjectionNvtx2"))(get_table);
    }
}

template <class Result = void, class... Parameters>
Result call(Function function, Parameters... parameters) {
    if (function != nullptr) {
        return reinterpret_cast<Result (*)(Parameters...)>(function)(parameters...);
    }
    return Result();
}

struct Attributes {
    std::uint16_t version = 3;
    std::uint16_t bytes = 48;
    std::uint32_t category = 0;
    std::int32_t colour_type = 0;
    std::uint32_t colour = 0;
    std::int32_t payload_type = 0;
    std::int32_t reserved = 0;
    std::uint64_t payload = 0;
    std::int32_t message_type = 1;
    const void* message = nullptr;
};
static_assert(sizeof(Attributes) == 48);

const Attributes* of(const Attributes& attributes) {
    return &attributes;
}

int push(const char* name) {
    return call<int>(g_core[9], name);
}
int pop() {
    return call<int>(g_core[11]);
}

/// Whether levels are as NVTX says, if there is somebody who counts them.
bool g_are_levels_right = true;
void expect_level(int level, int expected) {
    g_are_levels_right = g_are_levels_right && (g_core[9] == nullptr || level == expected);
}

void say_ranges() {
    for (int i = 0; i < 10; ++i) {
        expect_level(push("outer"), 0);
        expect_level(call<int>(g_core[10], L"w\u00e4ide"), 1);
        expect_level(pop(), 1);
        expect_level(pop(), 0);
    }
    const auto range = call<std::uint64_t>(g_core[5], "range");
    const auto wide_range = call<std::uint64_t>(g_core[6], L"wide range");
    std::thread{[range] { call(g_core[7], range); }}.join();
    call(g_core[7], wide_range);
    call(g_core[2], "a mark");
    call(g_core[3], L"a wide mark");
    call(g_core[12], 5U, "loading");
    Attributes attributes;
    attributes.category = 5;
    attributes.colour_type = 1;
    attributes.colour = 0xff123456;
    attributes.payload_type = 2;
    attributes.payload = static_cast<std::uint64_t>(std::int64_t{-42});
    attributes.message = "coloured";
    call<int>(g_core[8], of(attributes));
    pop();
    call(g_core[1], of(attributes));
    call(g_core[7], call<std::uint64_t>(g_core[4], of(attributes)));
}

void say_domains() {
    void* const physics = call<void*>(g_core2[12], "physics");
    void* const net = call<void*>(g_core2[13], L"net");
    call(g_core2[8], physics, 7U, "solver");
    Attributes attributes;
    attributes.message_type = 3;
    attributes.message = call<void*>(g_core2[10], physics, "registered");
    attributes.category = 7;
    attributes.payload_type = 3;
    const double half = 0.5;
    std::memcpy(&attributes.payload, &half, sizeof half);
    Attributes other;
    other.message = "receive";
    // Each domain has ranges of its own, which end in any order.
    expect_level(call<int>(g_core2[4], physics, of(attributes)), 0);
    expect_level(call<int>(g_core2[4], net, of(other)), 0);
    expect_level(call<int>(g_core2[5], physics), 0);
    expect_level(call<int>(g_core2[5], net), 0);
    call(g_core2[3], physics, call<std::uint64_t>(g_core2[2], physics, of(attributes)));
    other.category = 9;
    call(g_core2[1], net, of(other));
    struct {
        std::uint16_t version = 1;
        std::uint16_t bytes = 16;
        std::int32_t message_type = 1;
        const void* message = "door";
    } door;
    void* const object = call<void*>(g_sync[1], physics, static_cast<const void*>(&door));
    call(g_sync[3], object);
    call(g_sync[5], object);
    call(g_sync[6], object);
    call(g_sync[2], object);
    call(g_core2[14], physics);
}

void say_many_names() {
    for (int i = 0; i < 70'000; ++i) {
        push(("one of many names " + std::to_string(i)).c_str());
        pop();
    }
    call(g_core[2], "a mark behind them");
}

void attack() {
    pop();
    pop();
    call(g_core[7], std::uint64_t{0});
    call(g_core[7], std::uint64_t{0x123456789abcdef});
    call(g_core[8], static_cast<const Attributes*>(nullptr));
    pop();
    Attributes small;
    small.bytes = 24;
    small.message = "not looked at";
    call<int>(g_core[8], of(small));
    pop();
    push(nullptr);
    pop();
    const std::string huge(std::size_t{1} << 20U, 'h');
    push(huge.c_str());
    pop();
    for (int i = 0; i < 1000; ++i) {
        std::string name = "domain " + std::to_string(i);
        void* const made = call<void*>(g_core2[12], name.c_str());
        name.assign(name.size(), '#');
        Attributes attributes;
        attributes.message = "in many";
        attributes.category = static_cast<std::uint32_t>(i);
        call<int>(g_core2[4], made, of(attributes));
        call<int>(g_core2[5], made);
    }
    for (int i = 0; i < 300; ++i) {
        push("deep");
    }
    for (int i = 0; i < 300; ++i) {
        pop();
    }
    push("around a fork");
    const pid_t child = fork();
    if (child == 0) {
        pop();
        push("in the child");
        pop();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    pop();
    std::thread{[] { push("open at the thread's end"); }}.join();
}

}  // namespace

int main(int argc, char** argv) {
    load();
    const std::string how = argc > 1 ? argv[1] : "";
    if (how == "attack") {
        attack();
    } else if (how == "many") {
        say_many_names();
    } else {
        std::atomic<int> tid{0};
        std::atomic<bool> is_named{false};
        std::thread named{[&] {
            tid = gettid();
            while (!is_named) {
                std::this_thread::yield();
            }
            push("in a thread");
            pop();
        }};
        while (tid == 0) {
            std::this_thread::yield();
        }
        call(g_core[14], static_cast<std::uint32_t>(tid.load()), "named by another");
        is_named = true;
        call(g_core[14], static_cast<std::uint32_t>(gettid()), "speaker");
        say_ranges();
        say_domains();
        named.join();
    }
    std::puts(g_are_levels_right ? "said" : "wrong levels");
}
