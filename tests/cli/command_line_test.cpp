// The command line's contract: which words become which options, and what is refused how.
#include "cli/options/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sample::cli {
namespace {

using Arguments = std::vector<std::string>;

template <class Options>
Options parse_as(const Arguments& words) {
    const Result<Invocation> result = parse_command_line(words);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    EXPECT_TRUE(std::holds_alternative<Options>(*result));
    return std::get<Options>(*result);
}

std::string refusal(const Arguments& words) {
    const Result<Invocation> result = parse_command_line(words);
    return result ? "accepted" : result.error().message();
}

void expect_refusal(const Arguments& words, const std::string& part) {
    EXPECT_NE(refusal(words).find(part), std::string::npos) << refusal(words);
}

TEST(Record, is_the_default_verb) {
    for (const Arguments& words : {Arguments{"--freq", "10k", "--", "app", "x"},
                                   {"record", "--freq", "10k", "--", "app", "x"},
                                   {"-f10k", "app", "x"},
                                   {"record", "-f", "10k", "app", "x"},
                                   {"--freq=10k", "app", "x"}}) {
        const auto options = parse_as<RecordOptions>(words);
        EXPECT_EQ(options.frequency_hz, 10'000U);
        EXPECT_EQ(options.command, (Arguments{"app", "x"}));
    }
}

TEST(Record, has_the_defaults_of_the_contract) {
    const auto options = parse_as<RecordOptions>({"app"});
    EXPECT_EQ(options.frequency_hz, 1'000U);
    EXPECT_FALSE(options.time.has_value());
    EXPECT_TRUE(options.output.empty());
    EXPECT_FALSE(options.force);
    EXPECT_TRUE(options.exports.empty());
    EXPECT_EQ(options.source, control::Source::none);
    EXPECT_EQ(options.clock, trace::Clock::cpu);
    EXPECT_EQ(options.max_stack, 8'192U);
    EXPECT_TRUE(options.children);
    EXPECT_FALSE(options.quiet);
    EXPECT_EQ(options.color, ColorMode::automatic);
}

TEST(Record, reads_every_option) {
    const auto options = parse_as<RecordOptions>({"-t",
                                                  "1.5s",
                                                  "-o",
                                                  "%n.utrace",
                                                  "--force",
                                                  "--export",
                                                  "json=a.json",
                                                  "--export=folded=b",
                                                  "--source",
                                                  "perf",
                                                  "--clock",
                                                  "cpu",
                                                  "--max-stack",
                                                  "64",
                                                  "--no-children",
                                                  "--no-symbols",
                                                  "--no-cache",
                                                  "--quiet",
                                                  "--color",
                                                  "never",
                                                  "app"});
    EXPECT_EQ(options.time, std::chrono::milliseconds{1500});
    EXPECT_EQ(options.output, "%n.utrace");
    EXPECT_TRUE(options.force);
    ASSERT_EQ(options.exports.size(), 2U);
    EXPECT_EQ(options.exports[0].format->name, "json");
    EXPECT_EQ(options.exports[0].path, "a.json");
    EXPECT_EQ(options.exports[1].format->name, "folded");
    EXPECT_EQ(options.exports[1].path, "b");
    EXPECT_EQ(options.source, control::Source::perf);
    EXPECT_EQ(options.max_stack, 64U);
    EXPECT_FALSE(options.children);
    EXPECT_FALSE(options.symbols);
    EXPECT_FALSE(options.use_cache);
    EXPECT_TRUE(options.quiet);
    EXPECT_EQ(options.color, ColorMode::never);
    EXPECT_EQ(options.command, Arguments{"app"});
}

TEST(Record, leaves_the_commands_own_words_alone) {
    const struct {
        Arguments words;
        Arguments command;
    } cases[] = {
        {{"app", "--freq", "5"}, {"app", "--freq", "5"}},
        {{"app", "--", "x"}, {"app", "--", "x"}},
        {{"--", "--app", "-f"}, {"--app", "-f"}},
        {{"--", "report", "x"}, {"report", "x"}},
        {{"--", "--", "x"}, {"--", "x"}},
        {{"--quiet", "app", "--help"}, {"app", "--help"}},
        {{"-f", "1k", "app", "-h"}, {"app", "-h"}},
        {{"--export", "json=x", "app", "json=y"}, {"app", "json=y"}},
        {{"app", ""}, {"app", ""}},
        {{"-o", "-x", "app", "-x"}, {"app", "-x"}},
        {{"app", "-"}, {"app", "-"}},
        {{"-", "x"}, {"-", "x"}},
    };
    for (const auto& item : cases) {
        const Result<Invocation> result = parse_command_line(item.words);
        ASSERT_TRUE(result.has_value()) << item.words[0] << result.error().message();
        EXPECT_EQ(std::get<RecordOptions>(*result).command, item.command);
    }
}

TEST(Record, takes_the_last_of_an_option_given_twice) {
    const auto options =
        parse_as<RecordOptions>({"-f", "1k", "-f", "2k", "--no-children", "--children", "app"});
    EXPECT_EQ(options.frequency_hz, 2'000U);
    EXPECT_TRUE(options.children);
}

TEST(Record, a_port_for_live_data_is_joined) {
    EXPECT_EQ(parse_as<RecordOptions>({"app"}).live_port, std::nullopt);
    const auto any = parse_as<RecordOptions>({"--live", "8080", "x"});
    EXPECT_EQ(any.live_port, 0);
    EXPECT_EQ(any.command, (Arguments{"8080", "x"}));
    EXPECT_EQ(parse_as<RecordOptions>({"--live=8080", "app"}).live_port, 8080);
    EXPECT_EQ(parse_as<RecordOptions>({"--live=1", "--live=65535", "app"}).live_port, 65535);
    const auto attached = parse_as<AttachOptions>({"attach", "--live", "8080"});
    EXPECT_EQ(attached.record.live_port, 0);
    EXPECT_EQ(attached.targets, (Arguments{"8080"}));
    EXPECT_EQ(parse_as<AttachOptions>({"attach", "--live=80", "app"}).record.live_port, 80);
    EXPECT_NE(parse_as<Text>({"record", "--help"}).text.find("--live[=PORT]"), std::string::npos);
    for (const char* const word : {"--live=x", "--live=65536", "--live=-1"}) {
        expect_refusal({word, "app"}, "is not a port");
    }
    expect_refusal({"--live", "--freq", "off", "--trace", "all", "app"}, "leave one of them out");
}

TEST(Record, channels_by_name_and_by_preset) {
    const auto both = parse_as<RecordOptions>({"--trace", "default,physics", "app"});
    EXPECT_EQ(both.trace, "cpu,frame,bookmark,region,counter,log,physics");
    EXPECT_TRUE(both.samples);
    EXPECT_EQ(parse_as<RecordOptions>({"--trace", "light,all", "app"}).trace,
              "frame,bookmark,region,log,all");
    const std::string channels = parse_as<Text>({"--list-channels"}).text;
    for (const char* const line : {"\n  cpu       zones", "\n  log ", "\n  default ", "\n  all "}) {
        EXPECT_NE(channels.find(line), std::string::npos) << channels;
    }
    const auto alone = parse_as<RecordOptions>({"--trace=cpu", "--freq", "off", "app"});
    EXPECT_EQ(alone.trace, "cpu");
    EXPECT_FALSE(alone.samples);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--trace", "cpu,,log", "app"}, {"--freq", "off", "app"}}) {
        EXPECT_FALSE(parse_options<RecordOptions>(words));
    }
}

TEST(Record, is_in_parts_if_any_of_their_options_is_given) {
    EXPECT_FALSE(parse_as<RecordOptions>({"app"}).parts.are_wanted());
    const auto all =
        parse_as<RecordOptions>({"--rotate", "10m", "--keep", "1.5h", "--max-size", "2G", "app"});
    EXPECT_EQ(all.parts.rotate, std::chrono::minutes{10});
    EXPECT_EQ(all.parts.keep, std::chrono::minutes{90});
    EXPECT_EQ(all.parts.max_bytes, 2'000'000'000U);
    for (const Arguments& words : {Arguments{"attach", "--rotate", "100ms", "1"},
                                   {"attach", "--keep", "1", "1"},
                                   {"attach", "--max-size", "100K", "1"},
                                   {"attach", "--max-size", "100000", "1"}}) {
        EXPECT_TRUE(parse_as<AttachOptions>(words).record.parts.are_wanted()) << words[1];
    }
}

TEST(Record, refuses_and_says_what_is_allowed) {
    expect_refusal({}, "no command to record");
    expect_refusal({"--freq", "10k"}, "no command to record");
    expect_refusal({"--freq", "10k", "--"}, "no command to record");
    expect_refusal({"--", ""}, "no command to record");
    expect_refusal({"--freq", "20k", "app"}, "no whole number from 1 to 10000");
    expect_refusal({"--freq", "7.5", "app"}, "no whole number from 1 to 10000");
    expect_refusal({"--freq", "0", "app"}, "no whole number from 1 to 10000");
    expect_refusal({"--freq", "fast", "app"}, "'fast' is not a frequency");
    expect_refusal({"--time", "soon", "app"}, "e.g. 500ms, 10s or 5m");
    expect_refusal({"--time", "0s", "app"}, "--time '0s'");
    expect_refusal({"--delay", "soon", "app"}, "--delay 'soon'");
    for (const char* time : {"soon", "0s", "99ms"}) {
        expect_refusal({"--rotate", time, "app"}, "is not a time of 100ms or more");
        expect_refusal({"attach", "--keep", time, "1"}, "is not a time of 100ms or more");
    }
    for (const char* size : {"", "1", "99K", "1T", "1.5G", "-1", "G", "1GB", "99999999999999G",
                             "99999999999999999999"}) {
        expect_refusal({"--max-size", size, "app"}, "is not a size of 100K or more");
    }
    expect_refusal({"--rotate", "1m", "--export", "json=a", "app"}, "convert those with");
    expect_refusal({"top", "--rotate", "1m", "1"}, "--rotate");
    expect_refusal({"--start", "off", "--time", "1s", "app"}, "leave --delay and --time out");
    expect_refusal({"--export", "svg=x", "app"}, "json, folded");
    expect_refusal({"--export", "json", "app"}, "FORMAT=FILE");
    expect_refusal({"--export", "json=", "app"}, "FORMAT=FILE");
    expect_refusal({"--source", "dtrace", "app"}, "choose one of auto, sigtrap, perf");
    expect_refusal({"--clock", "sun", "app"}, "choose one of cpu, wall");
    for (const char* frames :
         {"63", "8193", "0", "-1", "1k", "many", " 64", "99999999999999999999"}) {
        expect_refusal(
            {"--max-stack", frames, "app"},
            "--max-stack '" + std::string{frames} + "' is not a number of frames from 64 to 8192");
    }
    expect_refusal({"--color", "pink", "app"}, "auto, always, never");
    expect_refusal({"--frequency", "1k", "app"}, "--frequency");
    expect_refusal({"--freq"}, "--freq");
    expect_refusal({"view", "12"}, "sample -- view");
}

TEST(Refusals, say_where_help_is) {
    expect_refusal({"--bogus", "app"}, "\nTry: sample record --help");
    expect_refusal({"report", "--bogus"}, "\nTry: sample report --help");
}

TEST(Refusals, know_what_perf_calls_it) {
    expect_refusal({"-F", "999", "--", "x"}, "-F is --freq here\nTry: sample --freq 999 -- x");
    expect_refusal({"record", "-F99", "-g", "--", "./app", "-F", "1"},
                   "-F is --freq here; -g: stacks are always taken, leave it out\n"
                   "Try: sample --freq 99 -- ./app -F 1");
    expect_refusal({"--call-graph=dwarf", "app", "two words"}, "\nTry: sample app 'two words'");
    expect_refusal({"-o", "x", "-e", "cycles", "--", "x"}, "Try: sample -o x --event cycles -- x");
    expect_refusal({"-D", "500", "x"}, "Try: sample --delay 500ms x");
    expect_refusal(
        {"-p", "12"},
        "-p: a process that runs already is recorded with all its threads by sample attach PID");
    expect_refusal({"-ag"}, "-g: stacks are always taken");
    expect_refusal({"-a", "--freq", "0"}, "no whole number from 1 to 10000");
    expect_refusal({"-a", "app"}, "leave -a out");
    expect_refusal({"stat", "x"}, "sample --event NAME -- COMMAND");
    expect_refusal({"report", "-g", "x"}, "-g: stacks are always taken");
}

TEST(Record, takes_an_event) {
    EXPECT_TRUE(parse_as<RecordOptions>({"app"}).event.is_default());
    const auto options = parse_as<RecordOptions>({"--event", "page-faults:7", "app"});
    EXPECT_EQ(options.event.name, "page-faults");
    EXPECT_EQ(options.event.period, 7U);
    EXPECT_EQ(parse_as<RecordOptions>({"--event=task-clock", "-f", "2k", "app"}).frequency_hz,
              2000U);
    EXPECT_NE(parse_as<Text>({"--event", "help"}).text.find("context-switches"), std::string::npos);
}

TEST(Record, a_command_has_no_switches) {
    expect_refusal({"--off-cpu", "app"}, "--clock wall");
    EXPECT_TRUE(parse_as<RecordOptions>({"record", "-a", "--off-cpu"}).off_cpu);
    EXPECT_TRUE(parse_as<AttachOptions>({"attach", "--off-cpu", "1"}).record.off_cpu);
}

TEST(Record, refuses_what_an_event_cannot_have) {
    expect_refusal({"--event", "bogus", "app"}, "--event help");
    expect_refusal({"--event", "page-faults", "--freq", "1k", "app"}, "page-faults:PERIOD");
    expect_refusal({"--event", "page-faults", "--source", "timer", "app"}, "sigtrap, perf or auto");
    expect_refusal({"--event", "task-clock", "--source", "thread", "app"}, "sigtrap, perf or auto");
    expect_refusal({"--event", "page-faults", "--clock", "wall", "app"}, "--clock wall");
}

TEST(Report, reads_every_option) {
    const auto options =
        parse_as<ReportOptions>({"report",    "--view",      "callgraph", "--focus",
                                 "f(int)",    "--search",    "x",         "--net",
                                 "--average", "5m",          "--hide",    "gc,plugins",
                                 "--unit",    "%",           "--json",    "--category",
                                 "process",   "--min",       "2.5%",      "--color=always",
                                 "--names",   "short",       "--fold",    "parts,inlined",
                                 "--lines",   "--debug-dir", "/first",    "--debug-dir",
                                 "/second",   "a.utrace"});
    EXPECT_EQ(options.view, View::callgraph);
    EXPECT_TRUE(options.choice.labels.is_nothing());
    EXPECT_EQ(options.choice.names_from.debug_folders,
              (std::vector<std::string>{"/first", "/second"}));
    EXPECT_EQ(options.choice.focus, "f(int)");
    EXPECT_EQ(options.choice.search, "x");
    EXPECT_TRUE(options.choice.net);
    EXPECT_EQ(options.choice.average_s, 300U);
    EXPECT_TRUE(options.choice.hide_memory);
    EXPECT_TRUE(options.choice.hide_plugins);
    EXPECT_EQ(options.choice.names, symbolize::NameForm::brief);
    EXPECT_TRUE(options.choice.fold_parts);
    EXPECT_TRUE(options.choice.fold_inlined);
    EXPECT_TRUE(options.choice.by_line);
    EXPECT_EQ(options.choice.category, callgraph::CategoryBy::process);
    EXPECT_EQ(options.unit, Unit::percent);
    EXPECT_EQ(options.min_percent, 2.5);
    EXPECT_TRUE(options.json);
    EXPECT_EQ(options.color, ColorMode::always);
    EXPECT_EQ(options.file, "a.utrace");
}

TEST(Report, has_the_defaults_of_the_contract) {
    const auto options = parse_as<ReportOptions>({"report", "a"});
    EXPECT_EQ(options.view, View::summary);
    EXPECT_EQ(options.unit, Unit::weight);
    EXPECT_FALSE(options.choice.average_s.has_value());
    EXPECT_FALSE(options.choice.category.has_value());
    EXPECT_FALSE(options.choice.hide_memory);
    EXPECT_EQ(options.choice.names, std::nullopt);
    EXPECT_FALSE(options.choice.fold_parts);
    EXPECT_FALSE(options.choice.fold_inlined);
    EXPECT_FALSE(options.choice.by_line);
    EXPECT_FALSE(options.min_percent.has_value());
}

TEST(Report, takes_options_behind_the_file_too) {
    EXPECT_EQ(parse_as<ReportOptions>({"report", "a", "--hide", "gc"}).choice.hide_memory, true);
    EXPECT_EQ(parse_as<ReportOptions>({"report", "--", "-a"}).file, "-a");
}

TEST(Report, refuses_and_says_what_is_allowed) {
    expect_refusal({"report", "a", "b"}, "one file at a time");
    expect_refusal({"report", "--view", "tree", "a"},
                   "choose one of summary, callgraph, callers, functions, threads, stats");
    expect_refusal({"report", "--average", "2m", "a"}, "choose one of 1s, 1m, 5m, 10m");
    expect_refusal({"report", "--hide", "gc,io", "a"}, "'io': choose one of memory, plugins, gc");
    expect_refusal({"report", "--fold", "parts,x", "a"}, "--fold cannot be 'x'");
    expect_refusal({"report", "--fold", "", "a"}, "choose one of inlined, parts");
    expect_refusal({"report", "--names", "long", "a"}, "choose one of full, noargs, short");
    expect_refusal({"report", "--unit", "s", "a"}, "choose one of auto, ms, %");
    expect_refusal({"report", "--category", "core", "a"}, "choose one of process, thread, module");
    for (const char* min : {"-1", "101", "x", "nan", "inf", "5%%"}) {
        expect_refusal({"report", std::string{"--min="} + min, "a"}, "from 0 to 100");
    }
}

TEST(Export, reads_its_options) {
    const auto options =
        parse_as<ExportOptions>({"export", "--format", "folded", "-o", "x", "--force", "--focus",
                                 "f", "--names", "noargs", "a.utrace"});
    EXPECT_EQ(options.choice.names, symbolize::NameForm::no_arguments);
    EXPECT_EQ(options.format->name, "folded");
    EXPECT_EQ(options.output, "x");
    EXPECT_TRUE(options.force);
    EXPECT_EQ(options.choice.focus, "f");
    EXPECT_EQ(parse_as<ExportOptions>({"export", "--format", "json", "a"}).output, "-");
    EXPECT_EQ(parse_as<ExportOptions>({"export", "--format", "json", "-o", "-", "a"}).output, "-");
}

TEST(Export, refuses_and_says_what_is_allowed) {
    expect_refusal({"export", "a"}, "--format with one of json, folded");
    expect_refusal({"export", "--format", "svg", "a"}, "choose one of json, folded");
}

TEST(Diff, has_the_defaults_of_the_contract) {
    const auto options = parse_as<DiffVerbOptions>({"diff", "a", "b"});
    EXPECT_EQ(options.before, (std::vector<std::string>{"a"}));
    EXPECT_EQ(options.after, (std::vector<std::string>{"b"}));
    EXPECT_EQ(options.view, DiffView::functions);
    EXPECT_FALSE(options.normalize);
    EXPECT_EQ(options.confidence_percent, 95);
    EXPECT_FALSE(options.fail_above_percent.has_value());
    EXPECT_EQ(options.limit, 20U);
    EXPECT_FALSE(options.json);
}

TEST(Diff, reads_every_option) {
    const auto options = parse_as<DiffVerbOptions>({"diff", "--view", "paths", "--normalize",
                                                    "--confidence", "99.9%", "--fail-above", "5 %",
                                                    "--limit", "0", "--json", "--color", "always",
                                                    "--names", "short", "--hide", "gc", "a", "b"});
    EXPECT_EQ(options.view, DiffView::paths);
    EXPECT_TRUE(options.normalize);
    EXPECT_EQ(options.confidence_percent, 99.9);
    EXPECT_EQ(options.fail_above_percent, 5);
    EXPECT_EQ(options.limit, 0U);
    EXPECT_TRUE(options.json);
    EXPECT_EQ(options.color, ColorMode::always);
    EXPECT_TRUE(options.choice.hide_memory);
}

TEST(Diff, takes_several_files_a_side) {
    using Words = std::vector<std::string>;
    const auto several =
        parse_as<DiffVerbOptions>({"diff", "--json", "a1", "a2", "a3", "--", "b1", "b2"});
    EXPECT_EQ(several.before, (Words{"a1", "a2", "a3"}));
    EXPECT_EQ(several.after, (Words{"b1", "b2"}));
    EXPECT_TRUE(several.json);
    const auto one = parse_as<DiffVerbOptions>({"diff", "a", "--", "-b"});
    EXPECT_EQ(one.before, Words{"a"});
    EXPECT_EQ(one.after, Words{"-b"});
    // The first "--" ends the options where no file stands before it.
    const auto dashed = parse_as<DiffVerbOptions>({"diff", "--", "-a", "-b"});
    EXPECT_EQ(dashed.before, Words{"-a"});
    EXPECT_EQ(dashed.after, Words{"-b"});
    const auto both = parse_as<DiffVerbOptions>({"diff", "--", "-a", "-b", "--", "-c", "-d"});
    EXPECT_EQ(both.before, (Words{"-a", "-b"}));
    EXPECT_EQ(both.after, (Words{"-c", "-d"}));
}

TEST(Diff, normalizes_by_a_function) {
    const auto options = parse_as<DiffVerbOptions>({"diff", "--normalize-by", "f(int)", "a", "b"});
    EXPECT_TRUE(options.normalize);
    EXPECT_EQ(options.normalize_by, "f(int)");
}

TEST(Diff, refuses_what_it_cannot_do) {
    expect_refusal({"diff", "a", "--", "b", "c"}, "1 file and 2 files are compared");
    expect_refusal({"diff", "a", "b", "--", "c"}, "2 files and 1 file are compared");
    expect_refusal({"diff", "--", "--", "c"}, "0 files and 1 file are compared");
    expect_refusal({"diff", "a"}, "two files are compared, not 1");
    expect_refusal({"diff", "a", "b", "c"}, "two files are compared, not 3");
    expect_refusal({"diff", "--view", "tree", "a", "b"}, "functions, paths");
    expect_refusal({"diff", "--confidence", "100", "a", "b"}, "from 50 to 99.9999");
    expect_refusal({"diff", "--confidence", "nan", "a", "b"}, "from 50 to 99.9999");
    expect_refusal({"diff", "--fail-above", "-1", "a", "b"}, "like 5%");
    expect_refusal({"diff", "--fail-above", "5ms", "a", "b"}, "like 5%");
    expect_refusal({"diff", "--fail-above", "inf", "a", "b"}, "like 5%");
    // An unset variable of a script must not open the gate.
    expect_refusal({"diff", "--fail-above", "", "a", "b"}, "like 5%");
    expect_refusal({"diff", "--fail-above=", "a", "b"}, "like 5%");
    expect_refusal({"diff", "--fail-above", "5", "--fail-above", "", "a", "b"}, "like 5%");
    expect_refusal({"diff", "--limit", "few", "a", "b"}, "not a number of lines");
}

TEST(Doctor, reads_its_options) {
    EXPECT_TRUE(parse_as<DoctorOptions>({"doctor", "--json"}).json);
    EXPECT_FALSE(parse_as<DoctorOptions>({"doctor"}).json);
    expect_refusal({"doctor", "me"}, "me");
}

TEST(Trace, reads_its_options) {
    const auto plain = parse_as<TraceOptions>({"trace", "info"});
    EXPECT_EQ(plain.action, TraceAction::info);
    EXPECT_EQ(plain.file, "");
    const auto all = parse_as<TraceOptions>({"trace", "dump", "--logger", "A", "--logger", "B",
                                             "--event", "A.C", "--limit", "5", "--json", "f"});
    EXPECT_EQ(all.action, TraceAction::dump);
    EXPECT_EQ(all.loggers, (Arguments{"A", "B"}));
    EXPECT_EQ(all.events, Arguments{"A.C"});
    EXPECT_EQ(all.limit, 5U);
    EXPECT_TRUE(all.json);
    EXPECT_EQ(all.file, "f");
    EXPECT_EQ(parse_as<TraceOptions>({"trace", "channels", "-"}).action, TraceAction::channels);
    expect_refusal({"trace", "info", "--event", "A", "f"}, "of sample trace dump");
    expect_refusal({"trace"}, "write sample trace dump|info|channels and one FILE");
    expect_refusal({"trace", "info", "a", "b"}, "one FILE");
    expect_refusal({"trace", "show", "a"}, "sample trace cannot be 'show': choose one of dump");
    EXPECT_EQ(suggest({"trace", "i"}), "info\t\n");
}

TEST(Help, is_printed_for_all_and_for_each_verb) {
    for (const Arguments& words : {Arguments{"--help"}, {"-h"}, {"help"}}) {
        EXPECT_NE(parse_as<Text>(words).text.find("Verbs:"), std::string::npos);
    }
    for (const char* verb : {"record", "report", "export", "trace", "doctor"}) {
        const std::string text = parse_as<Text>({"help", verb}).text;
        EXPECT_EQ(text, parse_as<Text>({verb, "--help"}).text);
        EXPECT_NE(text.find("Usage: sample "), std::string::npos);
        EXPECT_NE(text.find(verb), std::string::npos);
    }
    expect_refusal({"help", "nothing"}, "no verb 'nothing'");
}

TEST(Version, names_the_program) {
    EXPECT_TRUE(parse_as<Text>({"--version"}).text.starts_with("sample "));
    EXPECT_EQ(parse_as<Text>({"version"}).text, parse_as<Text>({"--version"}).text);
}

TEST(CommandLine, reads_import) {
    const auto plain = parse_as<ImportOptions>({"import", "/data/app.folded.gz"});
    EXPECT_EQ(plain.file, "/data/app.folded.gz");
    EXPECT_EQ(plain.output, "app.json");
    EXPECT_FALSE(plain.from.has_value());
    EXPECT_FALSE(plain.force);
    EXPECT_EQ(parse_as<ImportOptions>({"import", ".hidden"}).output, ".hidden.json");
    EXPECT_EQ(parse_as<ImportOptions>({"import", "a.speedscope.json"}).output,
              "a.speedscope.imported.json");
    const auto all = parse_as<ImportOptions>(
        {"import", "--from", "perf-script", "-o", "-", "--force", "app.txt"});
    EXPECT_EQ(all.from, imports::Format::perf_script);
    EXPECT_EQ(all.output, "-");
    EXPECT_TRUE(all.force);
    expect_refusal({"import"}, "no file to read: write sample import [OPTIONS] FILE");
    expect_refusal({"import", "--from", "xml", "a"},
                   "--from cannot be 'xml': choose one of json, speedscope, pprof, perf-script, "
                   "folded, folded-threads, luau, cpuprofile, callgrind");
}

TEST(CommandLine, reads_the_format_of_foreign_files) {
    EXPECT_EQ(parse_as<ReportOptions>({"report", "--from", "luau", "a"}).choice.from,
              imports::Format::luau);
    EXPECT_EQ(parse_as<ExportOptions>({"export", "--format", "json", "--from", "folded", "a"})
                  .choice.from,
              imports::Format::folded);
    expect_refusal({"report", "--from", "x", "a"}, "--from cannot be 'x'");
}

TEST(ReportOptions, choose_samples_by_what_the_program_says) {
    const auto options =
        parse_as<ReportOptions>({"report", "--in-zone", "load", "--in-zone", "[x]", "--in-frames",
                                 "render:slowest:0.5%", "--between", "[a", "b c", "--from", "1.2s",
                                 "--to", "3s", "--by", "zone", "--zones", "a.utrace"});
    const analysis::LabelChoice& labels = options.choice.labels;
    EXPECT_EQ(labels.in_zones, (std::vector<std::string>{"load", "[x]"}));
    ASSERT_TRUE(labels.moments.frames);
    EXPECT_EQ(labels.moments.frames->kind, "render");
    EXPECT_EQ(labels.moments.frames->slowest_percent, 0.5);
    EXPECT_EQ(labels.moments.between, (std::pair<std::string, std::string>{"[a", "b c"}));
    EXPECT_EQ(labels.moments.from_ns, 1'200'000'000U);
    EXPECT_EQ(labels.moments.to_ns, 3'000'000'000U);
    EXPECT_EQ(labels.by, analysis::LabelBy::zone);
    EXPECT_EQ(options.choice.category, callgraph::CategoryBy::label);
    EXPECT_TRUE(labels.zones);
    EXPECT_EQ(options.file, "a.utrace");
}

TEST(ReportOptions, take_a_time_or_a_format_from_one_word) {
    const auto later = parse_as<ReportOptions>(
        {"report", "--from", "0", "--from", "json", "--in-frames", "slower:16ms", "a"});
    EXPECT_EQ(later.choice.labels.moments.from_ns, std::nullopt);
    EXPECT_EQ(later.choice.from, imports::Format::json);
    EXPECT_EQ(later.choice.labels.moments.frames->slower_than_ns, 16'000'000U);
    EXPECT_EQ(
        parse_as<ReportOptions>({"report", "--from", "0s", "a"}).choice.labels.moments.from_ns, 0U);
}

TEST(ReportOptions, say_which_moments_and_frames_there_can_be) {
    expect_refusal({"report", "--from", "1.2x", "a"}, "--from '1.2x' is no time");
    expect_refusal({"report", "--to", "late", "a"}, "--to 'late' is no time");
    expect_refusal({"report", "--to", "-1s", "a"}, "is no time");
    expect_refusal({"report", "--to", "h", "a"}, "is no time");
    expect_refusal({"report", "--from", "0hmm", "a"}, "--from '0hmm' is no time");
    expect_refusal({"report", "--to", "0.s", "a"}, "is no time");
    expect_refusal({"report", "--by", "colour", "a"}, "process, thread, module, zone, frame");
    for (const char* const frames : {"slowest", "slowest:", "slowest:1", "slowest:0%", "slower:1%",
                                     "slowest:101%", "quick:1%", "slowest:x%"}) {
        expect_refusal({"report", "--in-frames", frames, "a"}, "write slowest:1%, slower:16ms");
    }
    expect_refusal({"report", "--between", "a"}, "--between");
    EXPECT_EQ(parse_as<ReportOptions>({"report", "--between", "a", "b", "f.utrace"}).file,
              "f.utrace");
}

TEST(Completion, offers_the_values_of_an_option) {
    EXPECT_EQ(suggest({"--clock", ""}), "cpu\t\nwall\t\n");
    EXPECT_EQ(suggest({"report", "--view", "s"}), "summary\t\nstats\t\n");
    EXPECT_EQ(suggest({"diff", "--view", ""}), "functions\t\npaths\t\n");
    EXPECT_EQ(suggest({"report", "--view=c"}),
              "--view=callgraph\t\n--view=callers\t\n--view=counters\t\n")
        << "whole words";
    EXPECT_EQ(suggest({"--clock="}), "--clock=cpu\t\n--clock=wall\t\n");
    EXPECT_EQ(suggest({"report", "--json="}), "") << "no option with a value";
    EXPECT_EQ(suggest({"--export", "html"}), "html=\t\n");
    EXPECT_EQ(suggest({"--export=ht"}), "--export=html=\t\n");
    EXPECT_EQ(suggest({"-f", ""}), "1k\t\n10k\t\noff\t\n") << "by its short name, too";
    EXPECT_EQ(suggest({"report", "--focus", ""}), "") << "files";
}

TEST(Completion, offers_options_and_verbs_with_their_help) {
    EXPECT_EQ(suggest({"report", "--fo"}),
              "--focus\tOnly this function and what it calls\n"
              "--fold\tinlined: inlined calls become their callers' own\n");
    EXPECT_NE(suggest({"--no-ca"}).find("--no-cache\t"), std::string::npos);
    EXPECT_EQ(suggest({"dif"}),
              ":command 0\ndiff\tCompare two recordings: what got worse, what better\n");
    EXPECT_EQ(suggest({"report", ""}), "") << "files";
}

TEST(Completion, leaves_the_command_to_itself) {
    EXPECT_EQ(suggest({"--freq", "1k", "ls", "--a"}), ":command 2\n");
    EXPECT_EQ(suggest({"record", "--quiet", "--", "ls", ""}), ":command 3\n");
    EXPECT_EQ(suggest({"record", "--quiet", ""}), ":command 2\n") << "it may begin here";
}

}  // namespace
}  // namespace sample::cli
