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

TEST(Record, refuses_and_says_what_is_allowed) {
    expect_refusal({}, "no command to record");
    expect_refusal({"--freq", "10k"}, "no command to record");
    expect_refusal({"--freq", "10k", "--"}, "no command to record");
    expect_refusal({"--", ""}, "no command to record");
    expect_refusal({"--freq", "20k", "app"}, "outside the range 1 to 10000");
    expect_refusal({"--freq", "0", "app"}, "outside the range 1 to 10000");
    expect_refusal({"--freq", "fast", "app"}, "'fast' is not a frequency");
    expect_refusal({"--time", "soon", "app"}, "e.g. 500ms, 10s or 5m");
    expect_refusal({"--time", "0s", "app"}, "--time '0s'");
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
    expect_refusal({"attach", "12"}, "sample -- attach");
}

TEST(Refusals, say_where_help_is) {
    expect_refusal({"--bogus", "app"}, "\nTry: sample record --help");
    expect_refusal({"report", "--bogus"}, "\nTry: sample report --help");
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

TEST(Record, refuses_what_an_event_cannot_have) {
    expect_refusal({"--event", "bogus", "app"}, "--event help");
    expect_refusal({"--event", "page-faults", "--freq", "1k", "app"}, "page-faults:PERIOD");
    expect_refusal({"--event", "page-faults", "--source", "timer", "app"}, "sigtrap, perf or auto");
    expect_refusal({"--event", "task-clock", "--source", "thread", "app"}, "sigtrap, perf or auto");
    expect_refusal({"--event", "page-faults", "--clock", "wall", "app"}, "--clock wall");
}

TEST(Report, reads_every_option) {
    const auto options = parse_as<ReportOptions>({"report",
                                                  "--view",
                                                  "callgraph",
                                                  "--focus",
                                                  "f(int)",
                                                  "--search",
                                                  "x",
                                                  "--average",
                                                  "5m",
                                                  "--hide",
                                                  "gc,plugins",
                                                  "--unit",
                                                  "%",
                                                  "--json",
                                                  "--category",
                                                  "process",
                                                  "--min",
                                                  "2.5%",
                                                  "--color=always",
                                                  "--names",
                                                  "short",
                                                  "--fold",
                                                  "parts,inlined",
                                                  "--lines",
                                                  "--debug-dir",
                                                  "/first",
                                                  "--debug-dir",
                                                  "/second",
                                                  "a.utrace"});
    EXPECT_EQ(options.view, View::callgraph);
    EXPECT_EQ(options.choice.debug_folders, (std::vector<std::string>{"/first", "/second"}));
    EXPECT_EQ(options.choice.focus, "f(int)");
    EXPECT_EQ(options.choice.search, "x");
    EXPECT_EQ(options.choice.average_s, 300U);
    EXPECT_TRUE(options.choice.hide_gc);
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
    EXPECT_FALSE(options.choice.hide_gc);
    EXPECT_EQ(options.choice.names, symbolize::NameForm::full);
    EXPECT_FALSE(options.choice.fold_parts);
    EXPECT_FALSE(options.choice.fold_inlined);
    EXPECT_FALSE(options.choice.by_line);
    EXPECT_FALSE(options.min_percent.has_value());
}

TEST(Report, takes_options_behind_the_file_too) {
    EXPECT_EQ(parse_as<ReportOptions>({"report", "a", "--hide", "gc"}).choice.hide_gc, true);
    EXPECT_EQ(parse_as<ReportOptions>({"report", "--", "-a"}).file, "-a");
}

TEST(Report, refuses_and_says_what_is_allowed) {
    expect_refusal({"report"}, "no file to read");
    expect_refusal({"report", "a", "b"}, "one file at a time");
    expect_refusal({"report", "--view", "tree", "a"},
                   "choose one of summary, callgraph, functions, threads, stats");
    expect_refusal({"report", "--average", "2m", "a"}, "choose one of 1s, 1m, 5m, 10m");
    expect_refusal({"report", "--hide", "gc,io", "a"}, "'io': choose one of gc, plugins");
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
    expect_refusal({"export", "--format", "json"}, "no file to read");
}

TEST(Diff, has_the_defaults_of_the_contract) {
    const auto options = parse_as<DiffVerbOptions>({"diff", "a", "b"});
    EXPECT_EQ(options.before, "a");
    EXPECT_EQ(options.after, "b");
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
    EXPECT_TRUE(options.choice.hide_gc);
}

TEST(Diff, refuses_what_it_cannot_do) {
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
    expect_refusal({"diff", "--limit", "few", "a", "b"}, "no number of lines");
}

TEST(Doctor, reads_its_options) {
    EXPECT_TRUE(parse_as<DoctorOptions>({"doctor", "--json"}).json);
    EXPECT_FALSE(parse_as<DoctorOptions>({"doctor"}).json);
    expect_refusal({"doctor", "me"}, "me");
}

TEST(Help, is_printed_for_all_and_for_each_verb) {
    for (const Arguments& words : {Arguments{"--help"}, {"-h"}, {"help"}}) {
        EXPECT_NE(parse_as<Text>(words).text.find("Verbs:"), std::string::npos);
    }
    for (const char* verb : {"record", "report", "export", "doctor"}) {
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
                   "folded, folded-threads, luau");
}

TEST(CommandLine, reads_the_format_of_foreign_files) {
    EXPECT_EQ(parse_as<ReportOptions>({"report", "--from", "luau", "a"}).choice.from,
              imports::Format::luau);
    EXPECT_EQ(parse_as<ExportOptions>({"export", "--format", "json", "--from", "folded", "a"})
                  .choice.from,
              imports::Format::folded);
    expect_refusal({"report", "--from", "x", "a"}, "--from cannot be 'x'");
}

}  // namespace
}  // namespace sample::cli
