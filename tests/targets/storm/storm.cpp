// Whatever a program may do to itself, at random, the same at each run of a seed.
//
//     storm [--seed N] [--from STEP] [--steps N] [--company N]
//     storm --run NAME [--seed N] [--times N]
//     storm --list
//
// Each step is one operation, or a crowd of threads that do one each at the same time; besides, the
// seed says whether other threads work, allocate and throw all the while (--company says how many).
// --from repeats the end of a run: a step depends on the seed and on its number only. --run does
// one operation several times.
//
// STORM_WITHOUT names operations, `NAME,NAME`, that are left out, here and in all images.
//
// Stats: it prints a line a step, `NUMBER NAME CHECKSUM`, and ends with 0; both depend on the
// arguments and on the user alone. An operation that fails its own check says so on stderr, and the
// status is 120. Nothing is left behind: no process, no file.
#include "storm.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace storm {
namespace {

constexpr int kFailed = 120;

std::string g_self;
int g_depth = 1;
std::atomic<int> g_others{0};
std::atomic<const char*> g_operation{"start"};

bool is_left_out(std::string_view name) {
    const char* names = std::getenv("STORM_WITHOUT");  // NOLINT(concurrency-mt-unsafe): never set
    std::string list = ",";
    list.append(names != nullptr ? names : "").append(",");
    return list.find("," + std::string{name} + ",") != std::string::npos;
}

std::vector<Operation> all_operations() {
    std::vector<Operation> all;
    for (const Operations group :
         {thread_operations(), fork_operations(), process_operations(), exec_operations(),
          signal_operations(), fault_operations(), stack_operations(), library_operations(),
          limit_operations(), confinement_operations()}) {
        std::copy_if(group.begin(), group.end(), std::back_inserter(all),
                     [](const Operation& each) { return !is_left_out(each.name); });
    }
    return all;
}

/// One operation a thread, of those that bear each other. `names` becomes theirs.
std::uint64_t run_crowd(const std::vector<Operation>& all, Dice& dice, std::string& names) {
    std::vector<Operation> fit;
    for (const Operation& operation : all) {
        if (operation.anywhere) {
            fit.push_back(operation);
        }
    }
    const std::size_t count = 2 + dice.below(3);
    std::vector<std::uint64_t> sums(count);
    std::vector<std::thread> threads;
    g_others += static_cast<int>(count);
    for (std::uint64_t& sum : sums) {
        const Operation& operation = dice.one_of(fit);
        const std::uint64_t seed = dice.next();
        names += (names.empty() ? "" : "+") + std::string{operation.name};
        threads.emplace_back([&sum, &operation, seed] { sum = operation.run(seed); });
    }
    std::uint64_t sum = 0;
    for (std::size_t index = 0; index < count; ++index) {
        threads[index].join();
        sum = mix(sum, sums[index]);
    }
    g_others -= static_cast<int>(count);
    return sum;
}

void say(std::uint64_t step, const char* name, std::uint64_t sum) {
    dprintf(STDOUT_FILENO, "%llu %s %016llx\n", static_cast<unsigned long long>(step), name,
            static_cast<unsigned long long>(sum));
}

void run_step(const std::vector<Operation>& all, std::uint64_t seed, std::uint64_t step,
              bool tells) {
    Dice dice{mix(seed, step)};
    const bool crowd = dice.below(5) == 0;
    const Operation& operation = dice.one_of(all);
    std::string name = crowd ? "" : operation.name;
    g_operation = crowd ? "crowd" : operation.name;
    const std::uint64_t sum = crowd ? run_crowd(all, dice, name) : operation.run(dice.next());
    if (tells) {
        say(step, name.c_str(), sum);
    }
}

/// Threads that do what most programs do, until they are told to end. They leave the process's
/// signals to the main thread, as such threads should.
class Company {
public:
    explicit Company(unsigned count) {
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        for (unsigned number = 0; number < count; ++number) {
            threads_.emplace_back([this, number] { live(number); });
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        g_others += static_cast<int>(count);
    }
    ~Company() {
        ended_ = true;
        for (std::thread& thread : threads_) {
            thread.join();
        }
        g_others -= static_cast<int>(threads_.size());
    }
    Company(const Company&) = delete;
    Company& operator=(const Company&) = delete;

private:
    void live(std::uint64_t seed) const {
        while (!ended_) {
            seed = mix(work(seed));
            std::vector<std::string> words;
            for (std::size_t length = 1; length < 100; ++length) {
                words.emplace_back(length, 'x');
            }
            try {
                throw std::runtime_error{words.back()};
            } catch (const std::runtime_error& error) {
                targets::consume(static_cast<std::uint64_t>(*error.what()));
            }
            usleep(200);
        }
    }

    std::atomic<bool> ended_ = false;
    std::vector<std::thread> threads_;
};

struct Options {
    std::uint64_t seed = 1;
    std::uint64_t from = 0;
    std::uint64_t steps = 20;
    std::uint64_t times = 3;
    int company = -1;
    std::string_view run;
    bool list = false;
    bool wrong = false;
};

Options parse(std::span<char*> words) {
    Options options;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string_view word = words[at];
        if (word == "--list") {
            options.list = true;
            continue;
        }
        if (++at == words.size()) {
            options.wrong = true;
            break;
        }
        const std::uint64_t value = std::strtoull(words[at], nullptr, 0);
        if (word == "--seed") {
            options.seed = value;
        } else if (word == "--from") {
            options.from = value;
        } else if (word == "--steps") {
            options.steps = value;
        } else if (word == "--times") {
            options.times = value;
        } else if (word == "--company") {
            options.company = static_cast<int>(value);
        } else if (word == "--run") {
            options.run = words[at];
        } else {
            options.wrong = true;
        }
    }
    return options;
}

/// What an exec'ed image does: see Image.
int run_image(char** argv) {
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 16);
    g_depth = static_cast<int>(targets::number(argv[3]));
    targets::consume(work(seed));
    if (g_depth > 0) {
        const std::vector<Operation> all = all_operations();
        for (std::uint64_t step = 0; step < 1 + seed % 2; ++step) {
            run_step(all, seed, step, false);
        }
    }
    return code_of(seed);
}

int run_named(const Options& options) {
    for (const Operation& operation : all_operations()) {
        if (operation.name == options.run) {
            g_operation = operation.name;
            for (std::uint64_t time = 0; time < options.times; ++time) {
                say(time, operation.name, operation.run(mix(options.seed, time)));
            }
            return 0;
        }
    }
    std::fprintf(stderr, "storm: no operation is called that\n");
    return 2;
}

int run_steps(const Options& options) {
    const std::vector<Operation> all = all_operations();
    const auto company = options.company >= 0 ? static_cast<unsigned>(options.company)
                                              : static_cast<unsigned>(mix(options.seed, 77) % 3);
    const Company others{company};
    for (std::uint64_t step = options.from; step < options.steps; ++step) {
        run_step(all, options.seed, step, true);
    }
    return 0;
}

}  // namespace

void require(bool held, const char* what) {
    if (held) {
        return;
    }
    const int error = errno;
    char text[256];
    const int length = std::snprintf(text, sizeof text, "storm: %s: %s: %s\n", g_operation.load(),
                                     what, strerrordesc_np(error));
    if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) {
        _exit(kFailed + 1);
    }
    _exit(kFailed);
}

int depth() {
    return g_depth;
}

bool is_crowded() {
    return g_others > 0;
}

const char* self() {
    return g_self.c_str();
}

Beside::Beside(const char* name) {
    const auto folder = static_cast<int>(g_self.rfind('/'));
    std::snprintf(path, sizeof path, "%.*s/%s", folder, g_self.c_str(), name);
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, __WALL) < 0) {
        require(errno == EINTR, "waitpid");
    }
    return status;
}

void require_exit(pid_t child, int code) {
    const int status = wait_for(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        char text[80];
        std::snprintf(text, sizeof text, "the child's status is %#x, not exit %d",
                      static_cast<unsigned>(status), code);
        errno = 0;
        require(false, text);
    }
}

void require_signal(pid_t child, int signal) {
    const int status = wait_for(child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal) {
        char text[80];
        std::snprintf(text, sizeof text, "the child's status is %#x, not signal %d",
                      static_cast<unsigned>(status), signal);
        errno = 0;
        require(false, text);
    }
}

Image::Image(std::uint64_t seed, bool plain) : code{code_of(seed)} {
    std::snprintf(seed_text, sizeof seed_text, "%llx", static_cast<unsigned long long>(seed));
    std::snprintf(depth_text, sizeof depth_text, "%d", plain || g_depth == 0 ? 0 : g_depth - 1);
    static char word[] = "image";
    argv[0] = g_self.data();
    argv[1] = word;
    argv[2] = seed_text;
    argv[3] = depth_text;
    argv[4] = nullptr;
}

std::uint64_t in_threads(std::uint64_t seed, unsigned count, std::uint64_t (*body)(std::uint64_t)) {
    std::vector<std::uint64_t> sums(count);
    std::vector<std::thread> threads;
    g_others += static_cast<int>(count);
    for (unsigned number = 0; number < count; ++number) {
        threads.emplace_back(
            [&sum = sums[number], seed, number, body] { sum = body(mix(seed, number)); });
    }
    std::uint64_t sum = 0;
    for (unsigned number = 0; number < count; ++number) {
        threads[number].join();
        sum = mix(sum, sums[number]);
    }
    g_others -= static_cast<int>(count);
    return sum;
}

}  // namespace storm

int main(int argc, char** argv) {
    using namespace storm;  // NOLINT(google-build-using-namespace): this program's own
    char* found = realpath(argv[0], nullptr);
    g_self = found != nullptr ? found : argv[0];
    std::free(found);
    constexpr std::pair<const char*, int (*)(char**)> kImages[] = {{"image", run_image},
                                                                   {"chain", run_chain},
                                                                   {"signals", run_signals},
                                                                   {"memory", run_memory},
                                                                   {"locked", run_locked}};
    for (const auto& [word, run] : kImages) {
        if (argc == 4 && std::strcmp(argv[1], word) == 0) {
            return run(argv);
        }
    }
    const Options options = parse({argv + 1, static_cast<std::size_t>(argc - 1)});
    if (options.wrong) {
        return targets::usage(
            "[--seed N] [--from STEP] [--steps N] [--company N], --run NAME, --list");
    }
    if (options.list) {
        for (const Operation& operation : all_operations()) {
            std::puts(operation.name);
        }
        return 0;
    }
    return options.run.empty() ? run_steps(options) : run_named(options);
}
