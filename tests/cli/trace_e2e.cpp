// `sample trace`, and reports, of files that other programs wrote.
#include "tests/cli/sample_program.h"
#include "tests/trace/foreign_writer.h"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

namespace foreign = trace::foreign;
using foreign::Out;
using Json = nlohmann::json;

class TraceVerb : public SampleProgram {
protected:
    void write_stream(const std::string& name, const foreign::Stream& stream) const {
        write(name, {reinterpret_cast<const char*>(stream.bytes().data()), stream.bytes().size()});
    }

    static foreign::Stream a_game(std::string_view thread = "rainbow") {
        using namespace foreign;  // NOLINT(google-build-using-namespace)
        Stream stream;
        stream.begin(1000, 1'000'000'000);
        stream.thread(7, 4321, thread);
        stream.declare(20, kImportant | kNoSync | kHasAux, "Diagnostics", "Session2",
                       {{"Platform", kAnsi}, {"AppName", kWide}, {"Changelist", kU32}});
        stream.declare(21, kImportant | kNoSync | kHasAux, "Trace", "ChannelAnnounce",
                       {{"Id", kU32}, {"IsEnabled", kU8}, {"ReadOnly", kU8}, {"Name", kAnsi}});
        stream.declare(22, kImportant | kNoSync, "Trace", "ChannelToggle",
                       {{"Id", kU32}, {"IsEnabled", kU8}});
        stream.declare(
            30, kHasAux, "Rainbow", "Zippy",
            {{"Cycle", kU64}, {"Real", kF32}, {"Text", kWide}, {"Array", kArray | kI16}});
        stream.declare(31, kNoSync, "Boni", "Bark", {{"Number", kI8}});
        stream.important(20, Out{}
                                 .number(77, 4)
                                 .important_aux(0, narrow("Linux"))
                                 .important_aux(1, wide(u"Game"))
                                 .important_end());
        for (unsigned id = 1; id <= 2; ++id) {
            stream.important(21, Out{}
                                     .number(id, 4)
                                     .number(0, 1)
                                     .number(id - 1, 1)
                                     .important_aux(3, narrow(id == 1 ? "Cpu" : "Always"))
                                     .important_end());
        }
        stream.important(22, Out{}.number(1, 4).number(1, 1));
        Out array;
        for (unsigned i = 0; i < 20; ++i) {
            array.number(i - 1, 2);
        }
        stream.packet(7, Out{}
                             .event(30, 5)
                             .number(1'500'001'000, 8)
                             .real(0.5F)
                             .thread_aux(2, wide(u"\u001b[31mred"))
                             .thread_aux(3, array)
                             .thread_end());
        stream.packet(8, Out{}.enter().event(31).number(0xff, 1).leave());
        return stream;
    }
};

TEST_F(TraceVerb, dumps_any_event_as_text) {
    write_stream("game.utrace", a_game());
    const Outcome outcome = run("trace dump --logger Rainbow --logger Boni game.utrace");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out,
              "- 8 Boni.Bark enter Number=-1\n"
              "- 8 Boni.Bark leave\n"
              "1.500000000 7:rainbow Rainbow.Zippy Cycle=1500001000 Real=0.5 "
              "Text=\"\\u001b[31mred\" Array=[-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,... 20 in all]"
              "\n");
}

TEST_F(TraceVerb, dumps_any_event_as_json_lines) {
    write_stream("game.utrace", a_game());
    const Outcome outcome = run("trace dump --event Zippy --event Boni.Bark --json game.utrace");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream lines{outcome.out};
    std::string line;
    std::vector<Json> events;
    while (std::getline(lines, line)) {
        events.push_back(Json::parse(line, nullptr, false));
    }
    ASSERT_EQ(events.size(), 3U) << outcome.out;
    EXPECT_EQ(events[0]["style"], "enter");
    EXPECT_EQ(events[0]["time_ns"], nullptr);
    EXPECT_EQ(events[0]["serial"], nullptr);
    EXPECT_EQ(events[0]["fields"]["Number"], -1);
    EXPECT_EQ(events[1]["style"], "leave");
    EXPECT_EQ(events[2]["logger"], "Rainbow");
    EXPECT_EQ(events[2]["event"], "Zippy");
    EXPECT_EQ(events[2]["time_ns"], 1'500'000'000);
    EXPECT_EQ(events[2]["serial"], 5);
    EXPECT_EQ(events[2]["thread"], (Json{{"id", 7}, {"system_id", 4321}, {"name", "rainbow"}}));
    EXPECT_EQ(events[2]["fields"]["Text"], "\x1b[31mred");
    EXPECT_EQ(events[2]["fields"]["Array"].size(), 20U);
    EXPECT_EQ(events[2]["fields"]["Array"][0], -1);
}

TEST_F(TraceVerb, says_which_name_no_event_has) {
    write_stream("game.utrace", a_game());
    for (const char* const words : {"--event NOPE", "--event Zippy --event Boni.NOPE",
                                    "--logger NOPE --event Bark", "--event NOPE --json"}) {
        const Outcome outcome = run(std::string{"trace dump "} + words + " game.utrace");
        EXPECT_EQ(outcome.code, 1) << words;
        EXPECT_NE(outcome.err.find("NOPE matches no event of the recording: sample trace"),
                  std::string::npos)
            << outcome.err;
    }
    EXPECT_EQ(run("trace dump --event Zippy --event NOPE --limit 1 game.utrace").code, 0);
}

TEST_F(TraceVerb, stops_after_as_many_events_as_asked_for) {
    write_stream("game.utrace", a_game());
    EXPECT_EQ(run("trace dump --logger Boni --limit 1 game.utrace").out,
              "- 8 Boni.Bark enter Number=-1\n");
}

TEST_F(TraceVerb, informs_of_a_session) {
    foreign::Stream stream = a_game();
    stream.packet(8, Out{}.leave());
    write_stream("game.utrace", stream);
    const Outcome text = run("trace info game.utrace");
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* part :
         {"container  transport 4, protocol 7, 1000000000 cycles a second\n",
          "session    AppName \"Game\"\n", "session    Changelist 77\n",
          "     7       4321  rainbow\n", "         1             3  Boni.Bark\n",
          "         1  (scopes that end without a begin)\n"}) {
        EXPECT_NE(text.out.find(part), std::string::npos) << part << text.out;
    }
    const Json json = Json::parse(run("trace info --json game.utrace").out, nullptr, false);
    EXPECT_EQ(json["session"]["Platform"], "Linux");
    EXPECT_EQ(json["threads"].size(), 1U);
    EXPECT_EQ(json["types"].size(), 7U);
    EXPECT_EQ(json["problem"], nullptr);
    EXPECT_EQ(json["not_understood"].size(), 1U);
}

TEST_F(TraceVerb, lists_channels_with_their_state) {
    write_stream("game.utrace", a_game());
    EXPECT_EQ(run("trace channels game.utrace").out, "on   Cpu\noff  Always  (read-only)\n");
    const Json json = Json::parse(run("trace channels --json game.utrace").out, nullptr, false);
    EXPECT_EQ(json[0], (Json{{"name", "Cpu"}, {"enabled", true}, {"read_only", false}}));
    record("ours.utrace");
    EXPECT_EQ(run("trace channels ours.utrace").out, "no channels are announced\n");
}

TEST_F(TraceVerb, shows_a_recording_of_ours) {
    record("ours.utrace");
    const Outcome outcome = run("trace dump --event Sample.Process");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("Sample.Process ProcessId=1 Pid=100"), std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.err.find("the newest recording here is ours.utrace"), std::string::npos);
}

TEST_F(TraceVerb, lets_nothing_through_that_a_terminal_would_obey) {
    write_stream("game.utrace", a_game("\x1b]0;title\x07\xc2\x9b"
                                       "31m\xe2\x80\xae"));
    for (const char* words : {"dump", "dump --json", "info", "info --json", "channels"}) {
        const Outcome outcome = run(std::string{"trace "} + words + " game.utrace");
        EXPECT_EQ(outcome.code, 0);
        for (const char* evil : {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae"}) {
            EXPECT_EQ(outcome.out.find(evil), std::string::npos) << words;
        }
    }
}

TEST_F(TraceVerb, shows_a_damaged_file_as_far_as_it_goes) {
    const foreign::Stream stream = a_game();
    const std::string whole{reinterpret_cast<const char*>(stream.bytes().data()),
                            stream.bytes().size()};
    write("cut.utrace", whole.substr(0, whole.size() - 1));
    const Outcome outcome = run("trace dump --logger Rainbow cut.utrace");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("Rainbow.Zippy"), std::string::npos);
    EXPECT_EQ(outcome.err,
              "sample: cut.utrace is shown as far as it goes: the file ends in the middle of a "
              "packet\n");
    write("text.utrace", "#!/bin/sh");
    EXPECT_EQ(run("trace info text.utrace").code, 1);
    EXPECT_EQ(run("trace info missing.utrace").code, 1);
    EXPECT_EQ(run("trace dump - <cut.utrace", "").code, 0);
}

/// A game that has zones, frames, a counter and a bookmark, too, and some things that are nobody's.
class ForeignReport : public TraceVerb {
protected:
    void write_level() const {
        using namespace foreign;  // NOLINT(google-build-using-namespace)
        Stream stream = a_game();
        stream.declare(40, kImportant | kNoSync | kHasAux, "CpuProfiler", "EventSpec",
                       {{"Id", kU32}, {"Name", kAnsi}});
        stream.declare(41, kNoSync | kHasAux, "CpuProfiler", "EventBatchV2",
                       {{"Data", kArray | kU8}});
        const std::vector<Field> frame{{"Cycle", kU64}, {"FrameType", kU8}};
        stream.declare(42, kNoSync, "Misc", "BeginFrame", frame);
        stream.declare(43, kNoSync, "Misc", "EndFrame", frame);
        stream.declare(44, kImportant | kNoSync | kHasAux, "Counters", "Spec",
                       {{"Id", kU16}, {"Type", kU8}, {"DisplayHint", kU8}, {"Name", kAnsi}});
        stream.declare(45, kNoSync, "Counters", "SetValueInt",
                       {{"Cycle", kU64}, {"Value", kI64}, {"CounterId", kU16}});
        stream.declare(46, kImportant | kNoSync | kHasAux, "Misc", "BookmarkSpec",
                       {{"BookmarkPoint", kU64}, {"Line", kI32}, {"FormatString", kWide}});
        stream.declare(47, kNoSync | kHasAux, "Misc", "Bookmark",
                       {{"Cycle", kU64}, {"BookmarkPoint", kU64}, {"FormatArgs", kArray | kU8}});
        stream.declare(48, kNoSync, "$Trace", "Odd", {{"Number", kU8}});
        stream.important(40, Out{}.number(1, 4).important_aux(1, narrow("Tick")).important_end());
        stream.important(
            44, Out{}.number(1, 2).number(0, 2).important_aux(3, narrow("Actors")).important_end());
        stream.important(46, Out{}
                                 .number(77, 8)
                                 .number(12, 4)
                                 .important_aux(2, wide(u"Level loaded"))
                                 .important_end());
        // Begins at 3000, and ends 50 later.
        const Out batch = Out{}.number(0x80 | (3000 << 2 & 0x7c) | 1, 1).number(3000 >> 5, 1);
        stream.packet(7, Out{}
                             .event(41)
                             .thread_aux(0, Out{}.add(batch).number(1, 1).number(50 << 1, 2))
                             .thread_end());
        stream.packet(7, Out{}.event(42).number(2000, 8).number(0, 1));
        stream.packet(7, Out{}.event(43).number(1'500'001'000, 8).number(0, 1));
        stream.packet(7, Out{}.event(45).number(3000, 8).number(10, 8).number(1, 2));
        stream.packet(7, Out{}.event(45).number(3000, 8).number(10, 8).number(9, 2));
        stream.packet(7, Out{}.event(47).number(4000, 8).number(77, 8).thread_end());
        stream.packet(7, Out{}.event(48).number(1, 1));
        write_stream("level.utrace", stream);
    }
};

TEST_F(ForeignReport, says_what_the_file_is_and_where_to_look) {
    write_level();
    const Outcome outcome = run("report level.utrace");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "session  00:00:01.500\n"
              "trace     of another program: Game, 2 threads, no samples\n"
              "said      1 zone, 1 frame, 1 value of 1 counter, 1 message, 2 events of its "
              "own: see --view zones, frames, counters, log, events\n"
              "note      not all that was said could be understood: 1 event refers to what is not "
              "defined\n"
              "note      1 event of kinds that this version does not know: sample trace info lists "
              "all kinds, and sample trace dump shows their events\n");
    const Json json = Json::parse(run("report --json level.utrace").out, nullptr, false);
    EXPECT_EQ(json["ending"], nullptr);
    const Json& stats = json["stats"];
    EXPECT_EQ(stats["sampling"], "foreign");
    EXPECT_EQ(stats["clock"], nullptr);
    EXPECT_EQ(stats["zones"], 1);
    EXPECT_EQ(stats["frames"], 1);
    EXPECT_EQ(stats["counter_values"], 1);
    EXPECT_EQ(stats["messages"], 1);
    EXPECT_EQ(stats["own_events"], 2);
    EXPECT_EQ(stats["process_list"][0]["executable"], "Game");
    EXPECT_EQ(stats["notes"].size(), 2U);
}

TEST_F(ForeignReport, shows_what_chosen_threads_said) {
    write_level();
    for (const auto& [view, text] : {std::pair{"zones", "  Tick\n"},
                                     {"frames", "  main\n"},
                                     {"counters", "  Actors\n"},
                                     {"log", "  Level loaded\n"},
                                     {"events", "  Rainbow.Zippy("}}) {
        const std::string command = std::string{"report level.utrace --view "} + view;
        EXPECT_NE(run(command + " --thread rainbow").out.find(text), std::string::npos) << view;
        const Outcome other = run(command + " --thread 8");
        EXPECT_EQ(other.code, 0) << other.err;
        EXPECT_EQ(other.out.find(text), std::string::npos) << other.out;
        EXPECT_NE(run(command + " --process Game").out.find(text), std::string::npos) << view;
    }
    EXPECT_NE(run("report level.utrace --view log --thread 9").err.find("no thread is called '9'"),
              std::string::npos);
}

TEST_F(ForeignReport, has_what_was_said_in_its_views) {
    write_level();
    for (const auto& [view, text] : {std::pair{"zones", "  Tick\n"},
                                     {"frames", "  main\n"},
                                     {"counters", "  Actors\n"},
                                     {"log", "  Level loaded\n"},
                                     {"events", "  Boni.Bark(i"}}) {
        const Outcome outcome = run(std::string{"report level.utrace --view "} + view);
        EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out << outcome.err;
        EXPECT_EQ(outcome.out.find("sampled"), std::string::npos) << outcome.out;
        EXPECT_NE(outcome.out.find("1 event refers to what is not defined"), std::string::npos);
    }
    const Json json =
        Json::parse(run("report level.utrace --view events --json").out, nullptr, false);
    ASSERT_EQ(json["events"].size(), 2U) << json;
    EXPECT_EQ(json["events"][1]["event"], "Zippy");
    EXPECT_EQ(json["events"][1]["first_ns"], 1'500'000'000);
    for (const char* view : {"callgraph", "functions", "callers"}) {
        EXPECT_NE(run(std::string{"report level.utrace --view "} + view)
                      .out.find("note: a trace of another program: no samples, but 1 zone, "),
                  std::string::npos)
            << view;
    }
}

TEST_F(ForeignReport, tells_who_exports_it_that_it_has_no_samples) {
    write_level();
    const std::string why = "sample: level.utrace has no samples (a trace of another program)";
    EXPECT_EQ(run("export --format folded level.utrace").err,
              why + "; what its program says is shown by the formats: firefox, chrome\n");
    const Outcome chrome = run("export --format chrome level.utrace -o -");
    EXPECT_EQ(chrome.err, why + "\n");
    EXPECT_NE(chrome.out.find("Level loaded"), std::string::npos) << chrome.out;
}

}  // namespace
}  // namespace sample::cli
