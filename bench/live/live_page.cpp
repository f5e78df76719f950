// What it costs to watch a session: ten minutes of samples go through RecordQueue, LiveRecording
// and the page of `sample top`, or the deltas of `--live`, as fast as that goes, with the clock
// that they would have.
//
//     live_page [MINUTES [STACKS [THREADS]]]
//
// Prints, minute by minute, the CPU time of a page of functions and of one of the callgraph (mean
// and highest), in total and of the last ten seconds in turn; of a delta, and how long it is; what
// the session's loop and the watcher spend on a second of samples; and the memory of this process.
#include "analysis/live/live_recording.h"
#include "analysis/live/record_queue.h"
#include "cli/roomy_heap.h"
#include "cli/top/top_page.h"
#include "core/units.h"
#include "server/live_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>

namespace sample {
namespace {

constexpr std::uint64_t kHz = 10'000;
constexpr std::uint64_t kBatchesASecond = 50;
constexpr std::uint64_t kStart = 1'000 * kNsPerSecond;
constexpr std::uint32_t kFunctions = 4000;
constexpr std::uint32_t kSeed = 1;

double cpu_ms() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double resident_mib() {
    std::ifstream file{"/proc/self/statm"};
    double size = 0;
    double resident = 0;
    file >> size >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1U << 20U);
}

/// CPU time of something that happens often.
struct Cost {
    double sum = 0;
    double most = 0;
    int times = 0;

    template <class Work>
    void measure(Work work) {
        const double before = cpu_ms();
        work();
        const double spent = cpu_ms() - before;
        sum += spent;
        most = std::max(most, spent);
        ++times;
    }
    [[nodiscard]] std::string text() const {
        return fmt::format("{:7.2f} {:7.2f}", times == 0 ? 0 : sum / times, most);
    }
};

class Load {
public:
    Load(trace::RecordSink& sink, std::uint32_t stacks, std::uint32_t threads)
        : sink_{sink}, stacks_{stacks}, threads_{threads} {
        trace::SessionStart start;
        start.start_ns = kStart;
        start.period = kNsPerSecond / kHz;
        start.requested_hz = kHz;
        start.command_line = "./made-up";
        sink.record(start);
        trace::Module module;
        module.id = ModuleId{1};
        module.path = "/nonexistent/made-up";
        sink.record(module);
        trace::Process process;
        process.id = ProcessId{1};
        process.pid = 100;
        process.executable = "/nonexistent/made-up";
        sink.record(process);
        for (std::uint32_t id = 1; id <= threads; ++id) {
            sink.record(trace::Thread{ThreadId{id}, ProcessId{1}, 100 + id, kStart,
                                      fmt::format("worker-{}", id)});
        }
        // Deep rather than broad, as stacks are: mostly the child of a recent one.
        for (std::uint32_t id = 1; id <= stacks; ++id) {
            const std::uint32_t back = 1 + random(std::min(id, 8U));
            sink.node({NodeId{id}, NodeId{id % 100 == 0 ? 1 : id - back}, ModuleId{1},
                       0x1000 + 0x40 * std::uint64_t{random(kFunctions)}});
        }
    }

    /// A fiftieth of a second that ends at `time_ns`.
    void work(std::uint64_t time_ns) {
        for (std::uint64_t i = 0; i < threads_ * kHz / kBatchesASecond; ++i) {
            // A few stacks are hot, all occur.
            const std::uint32_t range = i % 2 == 0 ? std::max(stacks_ / 50, 1U) : stacks_;
            sink_.sample({ThreadId{static_cast<std::uint32_t>(1 + i % threads_)}, time_ns,
                          NodeId{1 + random(range)}, kNsPerSecond / kHz});
        }
    }

private:
    std::uint32_t random(std::uint32_t below) {
        return static_cast<std::uint32_t>(random_() % below);
    }

    trace::RecordSink& sink_;
    std::uint32_t stacks_;
    std::uint32_t threads_;
    std::minstd_rand random_{kSeed};
};

void run(std::uint64_t minutes, std::uint32_t stacks, std::uint32_t threads) {
    auto queue = analysis::RecordQueue::create();
    if (!queue) {
        return;
    }
    analysis::LiveRecording live{{}};
    Load load{**queue, stacks, threads};
    cli::TopState state;
    server::LiveState published;
    const cli::PageSize size{{true, true, 120}, 50};
    fmt::print("{} stacks, {} threads at {} Hz; CPU time in ms\n", stacks, threads, kHz);
    fmt::print(
        "minute  page: functions  page: callgraph            delta     KiB    loop/s  watcher/s  "
        "memory, MiB\n");
    std::uint64_t now = kStart;
    for (std::uint64_t minute = 1; minute <= minutes; ++minute) {
        Cost functions;
        Cost callgraph;
        Cost delta;
        std::size_t delta_bytes = 0;
        Cost loop;
        Cost watcher;
        for (int second = 0; second < 60; ++second) {
            Cost feeding;
            Cost taking;
            for (std::uint64_t i = 0; i < kBatchesASecond; ++i) {
                now += kNsPerSecond / kBatchesASecond;
                feeding.measure([&] {
                    load.work(now);
                    static_cast<void>((*queue)->flush(trace::FlushMode::worthwhile));
                });
                auto batch = (*queue)->take();
                batch->begin_ns = now - kNsPerSecond / kBatchesASecond;
                batch->end_ns = now;
                taking.measure([&] { live.add(*batch); });
            }
            loop.sum += feeding.sum;
            watcher.sum += taking.sum;
            ++loop.times;
            ++watcher.times;
            state.only_last_seconds = second % 2 != 0;
            state.view = cli::TopView::functions;
            functions.measure([&] { static_cast<void>(cli::top_page(live, state, size)); });
            state.view = cli::TopView::callgraph;
            callgraph.measure([&] { static_cast<void>(cli::top_page(live, state, size)); });
            delta.measure([&] {
                const auto profile = live.profile({});
                delta_bytes += profile ? published.update(*profile, {}).size() : 0;
            });
        }
        fmt::print("{:6}  {}  {}  {}  {:6.0f}  {:8.2f}  {:9.2f}  {:11.1f}\n", minute,
                   functions.text(), callgraph.text(), delta.text(),
                   static_cast<double>(delta_bytes) / delta.times / 1024, loop.sum / loop.times,
                   watcher.sum / watcher.times, resident_mib());
    }
}

std::uint64_t argument(int count, char** words, int index, std::uint64_t otherwise) {
    return count > index ? std::strtoull(words[index], nullptr, 10) : otherwise;
}

}  // namespace
}  // namespace sample

int main(int argc, char** argv) {
    sample::cli::keep_freed_memory();  // as `sample top` and --live do
    sample::run(sample::argument(argc, argv, 1, 10),
                static_cast<std::uint32_t>(sample::argument(argc, argv, 2, 20'000)),
                static_cast<std::uint32_t>(sample::argument(argc, argv, 3, 1)));
    return 0;
}
