// Everything that troubles a signal handler, at once.
//
//     storm PLUGIN SECONDS
//
// Until SECONDS of wall time are over: one thread starts and joins short threads, one loads and
// unloads PLUGIN, one forks children that allocate and end, one lives in malloc, one throws.
//
// Truth: each counts its rounds and prints them in the end; all are above 0, `failed=0`, exit 0.
#include "work.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::uint64_t> failed = 0;

void short_thread_round() {
    std::thread{[] { targets::burn(200'000); }}.join();
}

void plugin_round(const char* path) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    using Work = std::uint64_t (*)(std::uint64_t, unsigned);
    const auto work =
        plugin != nullptr ? reinterpret_cast<Work>(dlsym(plugin, "plugin_work")) : nullptr;
    if (work == nullptr) {
        ++failed;
        return;
    }
    targets::consume(work(1, 200));
    dlclose(plugin);
}

void fork_round() {
    const pid_t pid = fork();
    if (pid == 0) {
        std::vector<std::string> words(100, std::string(100, 'x'));
        targets::burn(300'000);
        _exit(words.size() == 100 ? 0 : 1);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        ++failed;
    }
}

void malloc_round() {
    std::vector<std::string> words;
    for (std::size_t length = 1; length < 300; ++length) {
        words.emplace_back(length, 'x');
    }
    targets::consume(words.size());
}

void throw_round() {
    try {
        throw std::runtime_error{"thrown on purpose, in a storm"};
    } catch (const std::runtime_error& error) {
        targets::consume(static_cast<std::uint64_t>(error.what()[0]));
    }
}

struct Trouble {
    const char* name;
    std::function<void()> round;
    std::uint64_t rounds = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("PLUGIN SECONDS");
    }
    const std::uint64_t end = targets::wall_ns() + targets::seconds_to_ns(argv[2]);
    std::vector<Trouble> troubles = {
        {"threads", short_thread_round}, {"plugins", [&] { plugin_round(argv[1]); }},
        {"forks", fork_round},           {"mallocs", malloc_round},
        {"throws", throw_round},
    };
    std::vector<std::thread> threads;
    threads.reserve(troubles.size());
    for (Trouble& trouble : troubles) {
        threads.emplace_back([&trouble, end] {
            do {
                trouble.round();
                ++trouble.rounds;
            } while (targets::wall_ns() < end);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (const Trouble& trouble : troubles) {
        targets::tell(trouble.name, trouble.rounds);
    }
    targets::tell("failed", failed);
    return failed == 0 ? 0 : 1;
}
