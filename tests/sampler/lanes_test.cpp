// What a thread says of itself while the handler takes its samples, and its own signal handlers say
// something, too: the collector gets all, whole and in order, whoever comes between.
#include "sampler/capture/lane_records.h"
#include "sampler/capture/thread_slots.h"
#include "sampler/instrument/definitions.h"
#include "sampler/instrument/lane_writer.h"
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/own_process.h"
#include "unwind/walk/walk.h"

#include <sys/wait.h>
#include <ucontext.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace sample::capture {
namespace {

using collector::AreaReader;
using collector::KeepingSink;
using collector::TestArea;
using collector::Writer;
using Numbers = std::vector<std::uint64_t>;

Numbers up_to(std::uint64_t end) {
    Numbers numbers(end);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

/// A record of its own size, which says who writes it, and its number to its end.
void say_own(std::uint64_t number) {
    Numbers words(1 + number % 7, number);
    words[0] |= std::uint64_t{static_cast<std::uint32_t>(::gettid())} << 32U;
    instrument::say(OtherKind::flow, 0, std::as_bytes(std::span{words}));
}

/// Puts together what each thread wrote, from its start to its end.
class ThreadsSink final : public KeepingSink {
public:
    struct Life {
        std::uint32_t tid = 0;
        Numbers numbers;
        Numbers zones;  ///< In the order in which they began.
        Numbers open;
        std::size_t samples = 0;
        std::uint64_t lost_zones = 0;
        std::uint64_t lost_others = 0;
        std::uint64_t last_ticks = 0;
    };
    std::map<std::uint32_t, Life> living;  ///< By slot.
    std::vector<Life> ended;

    void on_thread_start(const Writer& writer, const ThreadRecord& record) override {
        EXPECT_FALSE(living.contains(writer.slot));
        living[writer.slot].tid = record.tid;
    }
    void on_sample(const Writer& writer, const collector::DrainedSample& sample) override {
        KeepingSink::on_sample(writer, sample);
        ++life_of(writer).samples;
    }
    void on_said(const Writer& writer, std::span<const std::uint64_t> words) override {
        Life& life = life_of(writer);
        while (!words.empty()) {
            const std::size_t size =
                lane_record_bytes(words[0], words.size() > 1 ? words[1] : 0) / 8;
            ASSERT_TRUE(size != 0 && size <= words.size()) << "of a record";
            const std::uint64_t ticks = lane_record(words[0]) == LaneRecord::near_zone_begin
                                            ? near_ticks(words[0], life.last_ticks)
                                            : words[0] & kTickMask;
            ASSERT_GE(ticks, life.last_ticks);
            life.last_ticks = ticks;
            take(life, words.first(size));
            words = words.subspan(size);
        }
    }
    bool on_unsaid(const Writer& writer, std::uint64_t zones, std::uint64_t others) override {
        life_of(writer).lost_zones += zones;
        life_of(writer).lost_others += others;
        return true;
    }
    void on_thread_end(const Writer& writer, const ThreadRecord& record) override {
        EXPECT_EQ(record.tid, life_of(writer).tid);
        ended.push_back(std::move(living[writer.slot]));
        living.erase(writer.slot);
    }

private:
    static void take(Life& life, std::span<const std::uint64_t> words) {
        switch (lane_record(words[0])) {
            case LaneRecord::near_zone_begin:
            case LaneRecord::zone_begin: {
                const bool is_near = lane_record(words[0]) == LaneRecord::near_zone_begin;
                life.zones.push_back(is_near ? near_zone(words[0]) : words[1]);
                life.open.push_back(life.zones.back());
                break;
            }
            case LaneRecord::zone_end:
                ASSERT_FALSE(life.open.empty());
                life.open.pop_back();
                break;
            default:
                EXPECT_EQ(words[2] >> 32U, life.tid);
                life.numbers.push_back(words[2] & 0xffffffff);
                for (const std::uint64_t word : words.subspan(3)) {
                    ASSERT_EQ(word, life.numbers.back());
                }
        }
    }
    Life& life_of(const Writer& writer) {
        EXPECT_TRUE(living.contains(writer.slot)) << "before its start or after its end";
        EXPECT_EQ(living[writer.slot].tid, writer.tid);
        return living[writer.slot];
    }
};

/// What the collector has read of one area.
struct Reading {
    explicit Reading(Area& area) : reader{area} {}
    void drain() { reader.drain(sink); }
    AreaReader reader;
    ThreadsSink sink;
};

/// Reads all the time, as the collector's thread does now and then.
class Draining {
public:
    explicit Draining(Reading& reading)
        : thread_{[&] {
              while (!done_.load()) {
                  reading.drain();
                  std::this_thread::yield();
              }
              reading.drain();
          }} {}
    Draining(const Draining&) = delete;
    Draining& operator=(const Draining&) = delete;
    ~Draining() {
        done_.store(true);
        thread_.join();
    }

private:
    std::atomic<bool> done_{false};
    std::thread thread_;
};

class Lanes : public ::testing::Test {
protected:
    void SetUp() override { join(test); }
    void TearDown() override { leave(); }
    static void leave() {
        detach_after_fork();
        instrument::forget_lane();
    }
    static void end_own_thread() {
        instrument::leave_lane();
        end_thread();
    }

    /// The process is sampled into `to`, whose threads begin when they say so.
    void join(TestArea& to) {
        to.area().header.observes_waits.store(1);
        to.area().header.period_ticks = ~std::uint64_t{0};
        attach(&to.area(), modules.table(), nullptr);
        g_attached->definitions.store(to.mapping()->definitions());
        tell_own_stack();
    }
    /// As if the event had expired here.
    [[gnu::noinline]] static void take_one() {
        siginfo_t info = sample_info();
        ucontext_t context;
        ::getcontext(&context);
        on_signal(info.si_signo, &info, &context);
    }
    [[nodiscard]] Area& area() const { return test.area(); }
    void expect_all_given_back() {
        EXPECT_EQ(reading.reader.corrupt_chunks(), 0U);
        EXPECT_EQ(collector::count_free(area().header.free_chunks), kMaxChunks);
        EXPECT_EQ(collector::count_free(area().header.free_slots), kMaxThreads);
    }
    /// Takes all chunks that are free, and gives them back.
    void take_chunks() {
        for (std::size_t i = 0; i < free_.size(); ++i) {
            free_[i] = area().header.free_chunks[i].exchange(0);
        }
    }
    void return_chunks() const {
        for (std::size_t i = 0; i < free_.size(); ++i) {
            area().header.free_chunks[i].fetch_or(free_[i]);
        }
    }

    TestArea test{"cpu"};
    OwnModules modules;
    Reading reading{test.area()};
    std::array<std::uint64_t, std::tuple_size_v<Bitmap>> free_{};
};

/// Single steps: `visit` is called behind one instruction of `run`, or behind each of them.
using Visit = void (*)();
constexpr std::uint64_t kEach = ~std::uint64_t{0};
Visit g_visit = nullptr;
std::uint64_t g_visited_step = 0;
std::uint64_t g_steps = 0;
std::uint64_t g_visits = 0;

void on_step(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    if (++g_steps == g_visited_step || g_visited_step == kEach) {
        ++g_visits;
        g_visit();
    }
}

/// Returns how many instructions there were.
template <class Run>
std::uint64_t step_through(std::uint64_t visited_step, Visit visit, Run run) {
    g_visit = visit;
    g_visited_step = visited_step;
    g_steps = 0;
    asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    run();
    asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    return g_steps;
}

void say_between() {
    instrument::begin_zone(2);
    instrument::end_zone();
}

TEST_F(Lanes, are_whole_wherever_a_signal_handler_says_something) {
    const SignalAction action{SIGTRAP, on_step};
    begin_thread();
    g_visits = 0;
    std::uint64_t rounds = 0;
    for (std::uint64_t steps = kEach; rounds < steps; ++rounds) {
        steps = step_through(rounds + 1, say_between, [rounds] {
            instrument::begin_zone(1);
            say_own(rounds);
            instrument::end_zone();
        });
        reading.drain();
    }
    end_own_thread();
    reading.drain();
    ASSERT_EQ(reading.sink.ended.size(), 1U);
    const ThreadsSink::Life& life = reading.sink.ended[0];
    EXPECT_GT(rounds, 100U) << "was not stepped through";
    EXPECT_EQ(life.numbers, up_to(rounds));
    EXPECT_EQ(std::count(life.zones.begin(), life.zones.end(), 1), rounds);
    EXPECT_EQ(std::count(life.zones.begin(), life.zones.end(), 2), g_visits);
    EXPECT_TRUE(life.open.empty());
    EXPECT_EQ(life.lost_zones + life.lost_others, 0U);
    expect_all_given_back();
}

/// In the last words of a chunk: what does not fit is left out whole and counted, or goes to the
/// next one.
TEST_F(Lanes, are_exact_wherever_a_signal_handler_finds_a_chunk_full) {
    const SignalAction action{SIGTRAP, on_step};
    constexpr std::uint32_t kMost = 100;
    area().header.most_waiting_chunks = kMost;
    for (const std::uint32_t waiting : {0U, kMost}) {
        area().header.waiting_chunks.store(waiting);
        for (const std::size_t left : {16U, 32U}) {
            std::uint64_t rounds = 0;
            std::uint64_t lost = 0;
            for (std::uint64_t steps = kEach; rounds < steps; ++rounds) {
                reading.sink.ended.clear();
                g_visits = 0;
                std::thread{[&] {
                    constexpr std::uint64_t kNumber = 6;
                    constexpr std::size_t kOwnBytes = kOtherHeadBytes + 8 * (1 + kNumber);
                    std::size_t used = 0;
                    for (; used + kOwnBytes + left < Chunk::kDataBytes; used += kOwnBytes) {
                        say_own(kNumber);
                    }
                    for (; used + left < Chunk::kDataBytes;
                         used += kNearZoneBeginBytes + kZoneEndBytes) {
                        instrument::begin_zone(3);
                        instrument::end_zone();
                    }
                    steps = step_through(rounds + 1, say_between, [] {
                        instrument::begin_zone(1);
                        instrument::begin_zone(1);
                        instrument::end_zone();
                        instrument::end_zone();
                    });
                    end_own_thread();
                }}.join();
                reading.drain();
                ASSERT_EQ(reading.sink.ended.size(), 1U);
                const ThreadsSink::Life& life = reading.sink.ended[0];
                const auto filled = std::count(life.zones.begin(), life.zones.end(), 3);
                ASSERT_EQ(life.zones.size() - static_cast<std::size_t>(filled) + life.lost_zones,
                          3U)
                    << "behind instruction " << rounds;
                ASSERT_TRUE(life.open.empty());
                lost += life.lost_zones;
            }
            EXPECT_EQ(lost != 0, waiting == kMost);
        }
    }
    expect_all_given_back();
}

TEST_F(Lanes, do_not_disturb_samples_anywhere) {
    const SignalAction action{SIGTRAP, on_step};
    constexpr std::uint64_t kRounds = 10;
    begin_thread();
    std::uint64_t steps = 0;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        steps += step_through(kEach, take_one, [round] { say_own(round); });
        reading.drain();
    }
    end_own_thread();
    reading.drain();
    ASSERT_EQ(reading.sink.ended.size(), 1U);
    EXPECT_EQ(reading.sink.ended[0].numbers, up_to(kRounds));
    EXPECT_EQ(reading.sink.ended[0].samples, steps);
    EXPECT_EQ(reading.reader.totals().lost, 0U);
    expect_all_given_back();
}

TEST_F(Lanes, are_whole_and_in_order_while_signals_come) {
    const SignalAction action{SIGTRAP, on_signal};
    const std::uint64_t period_ns = affordable_period_ns();
    SAMPLE_NEEDS_EVENT(TrapEvent{period_ns});
    std::uint64_t written = 0;
    area().header.most_waiting_chunks = kMaxChunks;
    {
        const Draining draining{reading};
        std::thread{[&] {
            tell_own_stack();
            begin_thread();
            const TrapEvent event{period_ns};
            event.on();
            const std::uint64_t end = thread_cpu_ns() + 300'000'000;
            while (thread_cpu_ns() < end) {
                say_own(written++);
            }
            event.off();
            end_own_thread();
        }}.join();
    }
    ASSERT_EQ(reading.sink.ended.size(), 1U);
    EXPECT_EQ(reading.sink.ended[0].numbers, up_to(written));
    EXPECT_GT(reading.sink.ended[0].samples, 100U);
    for (const KeepingSink::Kept& sample : reading.sink.samples) {
        EXPECT_EQ(sample.stop, static_cast<std::uint32_t>(unwind::StopReason::root));
    }
    expect_all_given_back();
}

TEST_F(Lanes, go_on_by_themselves_when_chunks_run_out) {
    begin_thread();
    instrument::begin_zone(1);
    take_chunks();
    constexpr std::uint64_t kZones = 100'000;  // more than a chunk holds
    for (std::uint64_t i = 0; i < kZones; ++i) {
        instrument::begin_zone(2);
        instrument::end_zone();
    }
    say_own(0);
    instrument::end_zone();  // whose room was kept
    take_one();
    EXPECT_EQ(test.slot(0).samples.load(), 1U) << "there is room in the handler's chunk";
    return_chunks();
    instrument::begin_zone(3);
    instrument::end_zone();
    end_own_thread();
    reading.drain();
    ASSERT_EQ(reading.sink.ended.size(), 1U);
    const ThreadsSink::Life& life = reading.sink.ended[0];
    EXPECT_EQ(life.zones.front(), 1U);
    EXPECT_EQ(life.zones.back(), 3U);
    EXPECT_EQ(life.zones.size() + life.lost_zones, kZones + 2);
    EXPECT_EQ(life.lost_others, 1U);
    EXPECT_TRUE(life.open.empty());
    expect_all_given_back();
}

TEST_F(Lanes, wait_for_the_collector_up_to_a_limit) {
    area().header.most_waiting_chunks = 2;
    begin_thread();
    for (int i = 0; i < 100'000; ++i) {
        say_own(7);
    }
    EXPECT_EQ(area().header.waiting_chunks.load(), 2U);
    EXPECT_EQ(collector::count_free(area().header.free_chunks), kMaxChunks - 4)
        << "two that wait, the thread's own, and the samples'";
    reading.drain();
    EXPECT_EQ(area().header.waiting_chunks.load(), 0U);
    EXPECT_GT(reading.sink.living.begin()->second.lost_others, 0U);
    end_own_thread();
    reading.drain();
    expect_all_given_back();
}

TEST_F(Lanes, tell_all_between_a_threads_start_and_its_end) {
    constexpr int kRounds = 1'000;
    constexpr int kTogether = 4;
    constexpr std::uint64_t kRecords = 20;
    {
        const Draining draining{reading};
        for (int round = 0; round < kRounds; ++round) {
            std::vector<std::thread> threads;
            threads.reserve(kTogether);
            for (int i = 0; i < kTogether; ++i) {
                threads.emplace_back([&] {
                    for (std::uint64_t number = 0; number < kRecords; ++number) {
                        say_own(number);
                    }
                    end_own_thread();
                });
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
        }
    }
    EXPECT_EQ(reading.sink.ended.size(), std::size_t{kRounds} * kTogether);
    for (const ThreadsSink::Life& life : reading.sink.ended) {
        ASSERT_EQ(life.numbers, up_to(kRecords));
    }
    expect_all_given_back();
}

TEST_F(Lanes, say_nothing_behind_a_threads_end) {
    say_own(0);
    end_own_thread();
    say_own(1);
    instrument::begin_zone(1);
    instrument::end_zone();
    EXPECT_EQ(test.mapping()->definitions()->lost_others.load(), 1U);
    EXPECT_EQ(test.mapping()->definitions()->lost_zones.load(), 1U);
    reading.drain();
    ASSERT_EQ(reading.sink.ended.size(), 1U);
    EXPECT_EQ(reading.sink.ended[0].numbers, up_to(1));
    expect_all_given_back();
}

TEST_F(Lanes, of_a_forked_child_are_in_its_own_area) {
    TestArea childs{"cpu"};
    instrument::begin_zone(1);
    say_own(0);
    const pid_t child = ::fork();
    if (child == 0) {
        leave();
        const bool has_nothing = current_area() == nullptr && t_thread.state == nullptr;
        say_own(7);  // nobody listens
        join(childs);
        instrument::end_zone();  // the parent's
        instrument::begin_zone(2);
        say_own(0);
        instrument::end_zone();
        end_own_thread();
        ::_exit(has_nothing ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    say_own(1);
    instrument::end_zone();
    end_own_thread();
    reading.drain();
    ASSERT_EQ(reading.sink.ended.size(), 1U);
    EXPECT_EQ(reading.sink.ended[0].numbers, up_to(2));
    EXPECT_TRUE(reading.sink.ended[0].open.empty());
    Reading of_child{childs.area()};
    of_child.drain();
    ASSERT_EQ(of_child.sink.ended.size(), 1U);
    EXPECT_EQ(of_child.sink.ended[0].tid, static_cast<std::uint32_t>(child));
    EXPECT_EQ(of_child.sink.ended[0].numbers, up_to(1));
    EXPECT_EQ(of_child.sink.ended[0].zones, Numbers{2});
    expect_all_given_back();
}

TEST_F(Lanes, suspended_zones_go_on_on_another_thread) {
    instrument::begin_zone(1);
    instrument::begin_zone(2);
    const std::uint32_t depth = instrument::suspend(9, 5);
    EXPECT_EQ(depth, 2U) << "as many as are open";
    instrument::end_zone();  // there is none
    std::thread{[&] {
        instrument::resume(9, depth);
        instrument::end_zone();
        instrument::end_zone();
        instrument::end_zone();
        end_own_thread();
    }}.join();
    end_own_thread();
    KeepingSink kept;
    AreaReader{area()}.drain(kept);
    std::vector<LaneRecord> records;
    for (std::size_t i = 0; i < kept.said.size();) {
        records.push_back(lane_record(kept.said[i]));
        i += lane_record_bytes(kept.said[i], i + 1 < kept.said.size() ? kept.said[i + 1] : 0) / 8;
    }
    EXPECT_EQ(records,
              (std::vector{LaneRecord::zone_begin, LaneRecord::near_zone_begin, LaneRecord::other,
                           LaneRecord::other, LaneRecord::zone_end, LaneRecord::zone_end}));
}

TEST_F(Lanes, definitions_are_one_if_they_are_equal_and_a_childs_are_its_parents) {
    Definition zone;
    zone.kind = DefinitionKind::zone;
    const std::uint32_t one = instrument::define(zone, {"one", "category", "file"});
    const std::uint32_t two = instrument::define(zone, {"two"});
    EXPECT_NE(one, 0U);
    EXPECT_NE(one, two);
    EXPECT_EQ(instrument::define(zone, {"one", "category", "file"}), one);
    zone.line = 1;
    EXPECT_NE(instrument::define(zone, {"one", "category", "file"}), one);
    TestArea childs{"cpu"};
    instrument::copy_definitions(*test.mapping()->definitions(), *childs.mapping()->definitions());
    g_attached->definitions.store(childs.mapping()->definitions());
    zone.line = 0;
    EXPECT_EQ(instrument::define(zone, {"two"}), two);
    EXPECT_GT(instrument::define(zone, {"three"}), two + 1);
}

TEST_F(Lanes, definitions_end_where_there_is_no_room) {
    Definition zone;
    zone.kind = DefinitionKind::zone;
    std::uint32_t last = 0;
    for (zone.line = 0; zone.line < 2 * kMostDefinitions; ++zone.line) {
        const std::uint32_t number = instrument::define(zone, {"name"});
        if (number == 0) {
            break;
        }
        EXPECT_EQ(number, last + 1);
        last = number;
    }
    EXPECT_EQ(last, kMostDefinitions - 1);
    zone.line = 5;
    EXPECT_EQ(instrument::define(zone, {"name"}), 6U) << "an old one";
    const std::string longest(10'000, 'x');
    EXPECT_EQ(instrument::define(zone, {longest.c_str(), longest.c_str(), longest.c_str()}), 0U);
}

}  // namespace
}  // namespace sample::capture
