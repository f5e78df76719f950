// What the views of zones, frames, counters and messages print for a recording whose figures are
// known.
#include "cli/views/program_views.h"

#include "cli/views/program_text.h"
#include "trace/wire.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

constexpr Terminal kUtf8Pipe{false, true, 0};
constexpr Terminal kAscii80{false, false, 80};

std::uint64_t ms(std::uint64_t number) {
    return number * 1'000'000;
}

/// Two threads; "load" of 30 ms with 10 ms of "read" inside, twice; four frames; a counter.
analysis::ProgramRecording made_up_program() {
    analysis::ProgramRecording made;
    made.session.command_line = "./game";
    made.session.stats.wall_ns = ms(200);
    made.session.stats.samples = 50;
    made.session.stats.sampled = ms(50);
    made.session.stats.clock = "cpu";
    made.start_ns = 1'000;
    made.end_ns = 1'000 + ms(200);
    made.threads.resize(2);
    made.threads[0].name = "main";
    made.threads[1].tid = 77;
    const auto samples = std::make_shared<callgraph::SampleSeries>();
    for (std::int64_t time = 0; time < 50; ++time) {
        samples->append(
            {static_cast<std::int64_t>(ms(static_cast<std::uint64_t>(time))), 0, ms(1), false});
    }
    made.zones = std::make_unique<analysis::Zones>(
        made.start_ns, [samples](ThreadId id) { return id == ThreadId{1} ? samples : nullptr; });
    trace::ZoneSpec load;
    load.id = trace::ZoneId{1};
    load.name = "load";
    load.category = "io";
    load.file = "game.cpp";
    load.line = 12;
    made.zones->define(load);
    trace::ZoneSpec read;
    read.id = trace::ZoneId{2};
    read.name = "read";
    made.zones->define(read);
    const auto edge = [&](std::uint32_t thread, std::uint64_t at_ms, std::uint32_t zone) {
        trace::ZoneEdge one;
        one.thread = ThreadId{thread};
        one.kind = zone == 0 ? trace::EdgeKind::end : trace::EdgeKind::begin;
        one.time_ns = made.start_ns + ms(at_ms);
        one.zone = trace::ZoneId{zone};
        made.zones->add(one);
    };
    for (const std::uint32_t thread : {1U, 2U}) {
        edge(thread, 10, 1);
        edge(thread, 20, 2);
        edge(thread, 30, 0);
        edge(thread, 40, 0);
    }
    edge(2, 190, 2);
    made.zones->finish(made.end_ns);

    analysis::ProgramEventsSink sink;
    for (const std::uint64_t at : {0U, 20U, 40U, 100U}) {
        const std::uint64_t begin = made.start_ns + ms(at);
        sink.instrumentation(trace::FrameEdge{ThreadId{1}, begin, 0, true});
        sink.instrumentation(
            trace::FrameEdge{ThreadId{1}, begin + ms(at == 40 ? 50 : 10), 0, false});
    }
    trace::CounterSpec counter;
    counter.id = trace::CounterId{1};
    counter.name = "heap";
    counter.is_memory = true;
    sink.instrumentation(counter);
    const std::int64_t values[] = {1024, 4096, 2048};
    for (std::size_t i = 0; i < 3; ++i) {
        sink.instrumentation(
            trace::CounterValue{ThreadId{1}, made.start_ns + ms(50 * i), counter.id, values[i]});
    }
    trace::MessageSpec bookmark;
    bookmark.id = trace::MessageId{1};
    bookmark.is_bookmark = true;
    bookmark.format = "level\x1b loaded";
    sink.instrumentation(bookmark);
    trace::MessageSpec warning;
    warning.id = trace::MessageId{2};
    warning.category = "LogNet";
    warning.verbosity = trace::Verbosity::warning;
    warning.format = "slow peer";
    sink.instrumentation(warning);
    sink.instrumentation(
        trace::Message{ThreadId{2}, made.start_ns + ms(120), trace::MessageId{2}, {}});
    sink.instrumentation(
        trace::Message{ThreadId{1}, made.start_ns + ms(60), trace::MessageId{1}, {}});
    sink.instrumentation(trace::RegionBegin{ThreadId{1}, made.start_ns, 5, "level 1"});
    sink.instrumentation(trace::RegionEnd{ThreadId{2}, made.start_ns + ms(150), 5, ""});
    sink.instrumentation(trace::InstrumentationLoss{ThreadId{1}, made.start_ns, 3, 1});
    made.events = std::move(sink).finish();
    made.regions = made.events.regions.totals();
    return made;
}

TEST(ZonesView, has_a_line_for_each_name) {
    EXPECT_EQ(zones_view(made_up_program(), {kUtf8Pipe}),
              R"(./game  00:00:00.200

     count    total     self     mean      min      p50      p95      p99      max      cpu  cpu self  zone
         2  60.0 ms  40.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms   20.0 ms  io: load  game.cpp:12
         3  30.0 ms  30.0 ms  10.0 ms  10.0 ms  10.0 ms  10.0 ms  10.0 ms  10.0 ms  10.0 ms   10.0 ms  read

     count   total    mean     min     p50     p95     p99     max  region
         1  150 ms  150 ms  150 ms  150 ms  150 ms  150 ms  150 ms  level 1

1 zone had not ended when the recording did: in count and total, not in the others
3 zones and 1 other message were lost: the program said more than could be taken
)");
}

TEST(ZonesView, fits_a_terminal) {
    const std::string text = zones_view(made_up_program(), {kAscii80});
    EXPECT_NE(text.find("     count    total     self     mean      p99      cpu  zone\n"),
              std::string::npos)
        << text;
}

TEST(ZonesView, gives_programs_nanoseconds) {
    ViewOptions options{kUtf8Pipe};
    options.json = true;
    const auto json = nlohmann::json::parse(zones_view(made_up_program(), options));
    EXPECT_EQ(json["total_us"], 50'000);
    ASSERT_EQ(json["zones"].size(), 2U);
    const auto& load = json["zones"][0];
    EXPECT_EQ(load["name"], "load");
    EXPECT_EQ(load["category"], "io");
    EXPECT_EQ(load["count"], 2);
    EXPECT_EQ(load["total_ns"], 60'000'000);
    EXPECT_EQ(load["self_ns"], 40'000'000);
    EXPECT_EQ(load["p99_ns"], 30'000'000);
    EXPECT_EQ(load["sampled_ns"], 30'000'000);
    EXPECT_EQ(load["sampled_self_ns"], 20'000'000);
    EXPECT_EQ(json["zones"][1]["open"], 1);
    EXPECT_EQ(json["zones"][1]["category"], nullptr);
    EXPECT_EQ(json["regions"][0]["name"], "level 1");
    EXPECT_EQ(json["lost_zones"], 3);
}

TEST(FramesView, shows_how_long_they_are_and_the_slowest) {
    EXPECT_EQ(frames_view(made_up_program(), {kUtf8Pipe}),
              R"(./game  00:00:00.200

    frames  per second     mean      min      p50      p95      p99      max  kind
         4        36.4  20.0 ms  10.0 ms  10.0 ms  50.0 ms  50.0 ms  50.0 ms  main

main, by length
  10.0 ms –   15.0 ms          3  ████████████████████████████████████████
  15.0 ms –   20.0 ms          0  
  20.0 ms –   25.0 ms          0  
  25.0 ms –   30.0 ms          0  
  30.0 ms –   35.0 ms          0  
  35.0 ms –   40.0 ms          0  
  40.0 ms –   45.0 ms          0  
  45.0 ms –   50.0 ms          0  
  50.0 ms –   55.0 ms          1  █████████████

     frame      at s   length  thread
         3  0.040000  50.0 ms  main
         1  0.000000  10.0 ms  main
         2  0.020000  10.0 ms  main
         4  0.100000  10.0 ms  main
)");
}

TEST(FramesView, gives_programs_all_of_it) {
    ViewOptions options{kUtf8Pipe};
    options.json = true;
    const auto json = nlohmann::json::parse(frames_view(made_up_program(), options));
    const auto& main = json["frames"][0];
    EXPECT_EQ(main["count"], 4);
    EXPECT_EQ(main["max_ns"], 50'000'000);
    EXPECT_EQ(main["per_second"], 36.4);
    EXPECT_EQ(main["histogram"][0]["count"], 3);
    EXPECT_EQ(main["slowest"][0]["frame"], 3);
    EXPECT_EQ(main["slowest"][0]["begin_ns"], 40'000'000);
    EXPECT_EQ(main["slowest"][0]["thread"], "main");
}

// As a file may say.
TEST(FramesView, stands_frames_as_long_as_there_is_time) {
    analysis::ProgramRecording made = made_up_program();
    constexpr std::uint64_t kEver = ~std::uint64_t{0};
    made.events.frames[0].frames = {{0, 1, ThreadId{1}}, {0, kEver, ThreadId{1}}};
    ViewOptions options{kUtf8Pipe};
    options.json = true;
    const auto main = nlohmann::json::parse(frames_view(made, options))["frames"][0];
    EXPECT_EQ(main["max_ns"], kEver);
    EXPECT_EQ(main["mean_ns"], kEver / 2 + 1);
    std::uint64_t count = 0;
    for (const auto& bucket : main["histogram"]) {
        count += bucket["count"].get<std::uint64_t>();
    }
    EXPECT_EQ(count, 2U);
}

TEST(CountersView, draws_them_along_time) {
    EXPECT_EQ(counters_view(made_up_program(), {kAscii80}),
              "./game  00:00:00.200\n\n"
              "   last    min    max  greatest, along time  counter\n"
              "  2 KiB  1 KiB  4 KiB  _____#####,,,,,,,,,,  heap\n");
}

TEST(CountersView, draws_whatever_a_counter_holds) {
    using Limits = std::numeric_limits<double>;
    const double least = -Limits::max();
    const auto drawn = [](const std::vector<std::optional<double>>& values, double low,
                          double high) { return sparkline(values, low, high, kAscii80); };
    EXPECT_EQ(drawn({least, 0, std::nullopt, Limits::max()}, least, Limits::max()), "_= #");
    EXPECT_EQ(drawn({1, Limits::infinity()}, 1, Limits::infinity()), "_#");
    EXPECT_EQ(drawn({-Limits::infinity(), 1}, -Limits::infinity(), 1), "_#");
    EXPECT_EQ(drawn({Limits::quiet_NaN(), 1, 2}, 1, 2), "__#");
    EXPECT_EQ(drawn({Limits::quiet_NaN(), 2}, Limits::quiet_NaN(), Limits::quiet_NaN()), "__");
    EXPECT_EQ(drawn({3, 3}, 3, 3), "__");
}

TEST(CountersView, gives_programs_a_hundred_parts) {
    ViewOptions options{kUtf8Pipe};
    options.json = true;
    const auto json = nlohmann::json::parse(counters_view(made_up_program(), options));
    const auto& heap = json["counters"][0];
    EXPECT_EQ(heap["unit"], "bytes");
    EXPECT_EQ(heap["values"], 3);
    EXPECT_EQ(heap["last"], 2048);
    EXPECT_EQ(heap["mean"], (1024.0 * 50 + 4096.0 * 50 + 2048.0 * 100) / 200);
    EXPECT_EQ(heap["peaks"].size(), 100U);
    EXPECT_EQ(heap["peaks"][99], 2048);
}

TEST(LogView, is_by_time_and_escapes_what_a_terminal_would_obey) {
    EXPECT_EQ(log_view(made_up_program(), {kUtf8Pipe}),
              "./game  00:00:00.200\n\n"
              "      at s  kind      category  thread  text\n"
              "  0.060000  bookmark  -         main    level\\x1b loaded\n"
              "  0.120000  warning   LogNet    77      slow peer\n");
    ViewOptions found{kUtf8Pipe};
    found.search = "LogNet";
    found.json = true;
    const auto json = nlohmann::json::parse(log_view(made_up_program(), found));
    ASSERT_EQ(json["log"].size(), 1U);
    EXPECT_EQ(json["log"][0]["text"], "slow peer");
    EXPECT_EQ(json["log"][0]["time_ns"], 120'000'000);
}

TEST(EventsView, has_a_line_for_each_type) {
    analysis::ProgramRecording made = made_up_program();
    analysis::OwnEventTotals zips;
    zips.type = {trace::EventTypeId{1},
                 "Rainbow",
                 "Zip",
                 trace::wire::kNoSync,
                 {{"Number", 0x02}, {"Values", 0x93}, {"Real", 0x43}, {"Text\x1b", 0x89}}};
    zips.count = 1'200;
    zips.bytes = 34'567;
    zips.timed = 1'001;
    zips.first_ns = made.start_ns + ms(50);
    zips.last_ns = made.start_ns + ms(150);
    zips.threads = {ThreadId{1}, ThreadId{2}};
    analysis::OwnEventTotals bark;
    bark.type = {trace::EventTypeId{2}, "Boni", "Bark", trace::wire::kImportant, {{"A", 0x88}}};
    bark.count = 1;
    made.own_events = {zips, bark};
    EXPECT_EQ(
        events_view(made, {kUtf8Pipe}),
        "./game  00:00:00.200\n\n"
        "    events      bytes  per second  first at s  last at s  threads  flag       event\n"
        "      1200      34567     10000.0    0.050000   0.150000        2  NoSync     "
        "Rainbow.Zip(u32 Number, i64[] Values, f64 Real, WideString Text\\x1b)\n"
        "         1          0           -           -          -        0  Important  "
        "Boni.Bark(AnsiString A)\n\n"
        "200 events without a time: in events and bytes, not in the others\n");
    ViewOptions found{kUtf8Pipe};
    found.search = "bow.Z";
    found.json = true;
    const auto json = nlohmann::json::parse(events_view(made, found));
    ASSERT_EQ(json["events"].size(), 1U);
    const auto& zip = json["events"][0];
    EXPECT_EQ(zip["logger"], "Rainbow");
    EXPECT_EQ(zip["event"], "Zip");
    EXPECT_EQ(zip["count"], 1'200);
    EXPECT_EQ(zip["timed"], 1'001);
    EXPECT_EQ(zip["per_second"], 10'000);
    EXPECT_EQ(zip["first_ns"], 50'000'000);
    EXPECT_EQ(zip["threads"], (nlohmann::json{"main", "77"}));
    EXPECT_EQ(zip["important"], false);
    EXPECT_EQ(zip["no_sync"], true);
    EXPECT_EQ(zip["fields"][1]["type"], "i64[]");
}

TEST(ProgramViews, say_what_to_do_where_there_is_nothing) {
    for (const auto view : {zones_view, frames_view, counters_view, log_view, events_view}) {
        analysis::ProgramRecording empty;
        empty.zones = std::make_unique<analysis::Zones>(0, [](ThreadId) { return nullptr; });
        const std::string text = view(empty, {kUtf8Pipe});
        EXPECT_NE(text.find("record with --trace"), std::string::npos) << text;
    }
}

TEST(ProgramViews, have_only_what_was_searched_for) {
    ViewOptions found{kUtf8Pipe};
    found.search = "level 1";
    EXPECT_EQ(frames_view(made_up_program(), found).find("main, by length"), std::string::npos);
    const std::string zones = zones_view(made_up_program(), found);
    EXPECT_EQ(zones.find("io: load"), std::string::npos) << zones;
    EXPECT_NE(zones.find("level 1"), std::string::npos) << zones;
    found.search = "load";
    const std::string others = zones_view(made_up_program(), found);
    EXPECT_NE(others.find("io: load"), std::string::npos) << others;
    EXPECT_EQ(others.find("level 1"), std::string::npos) << others;
}

TEST(ProgramViews, do_not_call_what_was_not_chosen_missing) {
    analysis::ProgramRecording made = made_up_program();
    made.session.stats.said = {.zones = 5, .frames = 4, .counters = 1, .messages = 2, .events = 3};
    ViewOptions found{kUtf8Pipe};
    found.search = "nothing is called so";
    for (const auto view : {zones_view, frames_view, counters_view, log_view, events_view}) {
        const std::string text = view(made, found);
        EXPECT_EQ(text.find("record with --trace"), std::string::npos) << text;
        EXPECT_NE(text.find("leave out --search"), std::string::npos) << text;
    }
}

TEST(ProgramViews, say_what_they_are_restricted_to) {
    analysis::ProgramRecording made = made_up_program();
    made.session.restriction = "from 1.200 s";
    EXPECT_EQ(zones_view(made, {kUtf8Pipe}).find("./game  00:00:00.200\nonly from 1.200 s\n\n"),
              0U);
    EXPECT_NE(frames_view(made, {kUtf8Pipe}).find("\nonly from 1.200 s\n"), std::string::npos);
}

TEST(ProgramText, has_three_digits_and_a_unit) {
    EXPECT_EQ(brief_duration(0), "0 ns");
    EXPECT_EQ(brief_duration(999), "999 ns");
    EXPECT_EQ(brief_duration(1'999), "1.99 us");
    EXPECT_EQ(brief_duration(10'050), "10.0 us");
    EXPECT_EQ(brief_duration(999'999), "999 us");
    EXPECT_EQ(brief_duration(1'234'000'000'000), "1,234 s");
}

}  // namespace
}  // namespace sample::cli
