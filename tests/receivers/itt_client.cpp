// Says things by ITT, each way a number of times that the test knows.
//
// usage: itt_client names|say|attack|unload PLUGIN
#include "itt_static.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

using itt_static::Domain;
using itt_static::Id;
using itt_static::Text;

itt_static::Part itt;

constexpr Id kNone = {0, 0, 0};

Domain* domain(const char* name) {
    return itt.call<Domain*>("domain_create", name);
}
Text* text(const char* words) {
    return itt.call<Text*>("string_handle_create", words);
}
void begin(Domain* in, Text* name) {
    itt.call("task_begin", const_cast<const Domain*>(in), kNone, kNone, name);
}
void end(Domain* in) {
    itt.call("task_end", const_cast<const Domain*>(in));
}

int names() {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < itt_static::kCount; ++i) {
        void* const function = itt.functions[i];
        if (function == nullptr || function == reinterpret_cast<void*>(itt_static::nobody)) {
            std::printf("%s ", itt_static::kNames[i]);
            ++missing;
        }
    }
    std::printf("missing=%zu of %zu\n", missing, itt_static::kCount);
    return 0;
}

void say_tasks(Domain* physics) {
    Text* const step = text("step");
    Text* const collide = text("collide");
    for (int i = 0; i < 10; ++i) {
        begin(physics, step);
        begin(physics, collide);
        const std::uint64_t bodies = 100 + static_cast<std::uint64_t>(i);
        itt.call("metadata_add", physics, kNone, text("bodies"), 1, std::size_t{1},
                 static_cast<const void*>(&bodies));
        itt.call("metadata_str_add", physics, kNone, text("level"), "one and more", std::size_t{3});
        end(physics);
        end(physics);
    }
    itt.call("task_begin_fn", physics, kNone, kNone, dlsym(RTLD_DEFAULT, "qsort"));
    end(physics);
    // Overlapped: the first ends before the second.
    const Id first = {1, 2, 3};
    const Id second = {4, 5, 6};
    itt.call("task_begin_overlapped", physics, first, kNone, text("load"));
    itt.call("task_begin_overlapped", physics, second, kNone, text("stream"));
    std::thread{[&] { itt.call("task_end_overlapped", physics, first); }}.join();
    itt.call("task_end_overlapped", physics, second);
    itt.call("region_begin", physics, first, kNone, text("area"));
    itt.call("relation_add_to_current", physics, 5, second);
    itt.call("region_end", physics, first);
}

void say_figures(Domain* physics) {
    auto* const bytes = itt.call<itt_static::Counter*>("counter_create", "bytes", "net");
    auto* const load = itt.call<itt_static::Counter*>("counter_create_typed", "load", "net", 8);
    auto* const delta = itt.call<itt_static::Counter*>("counter_create_typed", "delta", "net", 6);
    for (int i = 0; i < 5; ++i) {
        itt.call("counter_inc", bytes);
        itt.call("counter_inc_delta", bytes, 9ULL);
        itt.call("counter_inc_v3", physics, text("hits"));
    }
    itt.call("counter_dec", bytes);
    const double real = 0.25;
    itt.call("counter_set_value", load, const_cast<double*>(&real));
    const std::int16_t negative = -7;
    itt.call("counter_set_value", delta, const_cast<std::int16_t*>(&negative));
    for (int i = 0; i < 3; ++i) {
        itt.call("frame_begin_v3", physics, static_cast<Id*>(nullptr));
        itt.call("frame_end_v3", physics, static_cast<Id*>(nullptr));
    }
    const auto now = itt.call<std::uint64_t>("get_timestamp");
    itt.call("frame_submit_v3", physics, static_cast<Id*>(nullptr), now, now + 1500);
    constexpr std::uint64_t kNoTime = ~0ULL;
    itt.call("frame_submit_v3", physics, static_cast<Id*>(nullptr), kNoTime, kNoTime);
    itt.call("frame_submit_v3", domain("until now"), static_cast<Id*>(nullptr), now - 1000,
             kNoTime);
}

void say_words(Domain* physics) {
    itt.call("marker", physics, kNone, text("a marker"), 1);
    const int mark = itt.call<int>("mark_create", "mark");
    itt.call<int>("mark", mark, "one");
    const int event = itt.call<int>("event_create", "event and more", 5);
    itt.call<int>("event_start", event);
    itt.call<int>("event_end", event);
    itt.call("formatted_metadata_add", physics, text("%d of %s"), 7, "nine");
    int lock = 0;
    itt.call("sync_create", static_cast<void*>(&lock), "mutex", "door", 1);
    itt.call("sync_prepare", static_cast<void*>(&lock));
    itt.call("sync_acquired", static_cast<void*>(&lock));
    itt.call("sync_releasing", static_cast<void*>(&lock));
}

int say() {
    Domain* const physics = domain("physics");
    std::thread{[] {
        itt.call("thread_set_name", "worker of ITT");
        begin(domain("net"), text("receive"));
        end(domain("net"));
    }}.join();
    say_tasks(physics);
    say_figures(physics);
    say_words(physics);
    begin(physics, text("before pause"));
    itt.call("pause");
    begin(physics, text("never"));
    itt.call("resume");
    end(physics);
    begin(physics, text("after pause"));
    end(physics);
    end(physics);
    std::thread{[&] {
        itt.call("thread_ignore");
        begin(physics, text("never"));
        end(physics);
    }}.join();
    std::puts("said");
    return 0;
}

void names_that_go() {
    for (int i = 0; i < 1000; ++i) {
        std::string name = "domain " + std::to_string(i);
        Domain* const made = domain(name.c_str());
        name.assign(name.size(), '#');
        begin(made, text("in many"));
        itt.call("frame_begin_v3", made, static_cast<Id*>(nullptr));
        itt.call("frame_end_v3", made, static_cast<Id*>(nullptr));
        end(made);
    }
    const std::string huge(std::size_t{1} << 20U, 'h');
    begin(domain(huge.c_str()), text(huge.c_str()));
    end(domain(huge.c_str()));
    const wchar_t wide[] = {
        L'w', static_cast<wchar_t>(0x7fffffff), static_cast<wchar_t>(0xd800), 0x20ac, 0x1f600,
        L'\0'};
    begin(domain("wide"),
          itt.call<Text*>("string_handle_createW", static_cast<const wchar_t*>(wide)));
    end(domain("wide"));
    begin(domain(nullptr), text(nullptr));
    end(domain(nullptr));
}

void pairs_that_are_none(Domain* in) {
    end(in);
    end(in);
    itt.call("task_end_overlapped", in, Id{9, 9, 9});
    itt.call("frame_end_v3", in, static_cast<Id*>(nullptr));
    for (int i = 0; i < 200; ++i) {
        begin(in, text("deep"));
    }
    for (int i = 0; i < 200; ++i) {
        end(in);
    }
    Domain* const other = domain("other");
    begin(in, text("outer"));
    begin(other, text("inner"));
    end(in);
    end(other);
    std::thread{[in] { begin(in, text("open at the thread's end")); }}.join();
}

int attack() {
    Domain* const in = domain("attack");
    names_that_go();
    pairs_that_are_none(in);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([in, t] {
            for (std::uint64_t i = 0; i < 2000; ++i) {
                begin(in, text(("of " + std::to_string(i % 50)).c_str()));
                const Id id = {i, static_cast<std::uint64_t>(t), 0};
                itt.call("task_begin_overlapped", in, id, kNone, text("overlapped"));
                itt.call("task_end_overlapped", in, id);
                end(in);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    begin(in, text("around a fork"));
    const pid_t child = fork();
    if (child == 0) {
        end(in);
        begin(in, text("in the child"));
        end(in);
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    end(in);
    itt.call("detach");
    begin(in, text("never"));
    itt.call("resume");
    begin(in, text("never"));
    end(in);
    end(in);
    std::printf("child=%d\n", WEXITSTATUS(status));
    return 0;
}

/// A library that has its own static part comes and goes.
int unload(const char* plugin) {
    for (int i = 0; i < 20; ++i) {
        void* const library = dlopen(plugin, RTLD_NOW);
        reinterpret_cast<void (*)()>(dlsym(library, "say_in_plugin"))();
        dlclose(library);
    }
    begin(domain("plugin"), text("after"));
    end(domain("plugin"));
    std::puts("unloaded");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    itt.load();
    const std::string how = argc > 1 ? argv[1] : "";
    return how == "names"    ? names()
           : how == "say"    ? say()
           : how == "attack" ? attack()
           : argc > 2        ? unload(argv[2])
                             : 2;
}
