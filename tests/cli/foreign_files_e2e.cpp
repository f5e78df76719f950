// The program itself with other profilers' files.
#include "sample_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

TEST_F(SampleProgram, imports_what_others_wrote) {
    write("app.folded", "main;f;g 3\nmain;f 2\n");
    const Outcome outcome = run("import app.folded");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with(
        "sample: folded: no threads named, 3 functions, samples unknown, 5 counts\nnote: "))
        << outcome.err;
    const Json json = Json::parse(content("app.json"));
    EXPECT_EQ(json.at("Version"), 2);
    EXPECT_EQ(json.at("Unit"), "counts");
    EXPECT_EQ(json.at("Nodes").at(0).at("TotalDuration"), 5);
    EXPECT_EQ(run("import app.folded").code, 1);
    EXPECT_EQ(run("import --force app.folded").code, 0);
    const Outcome threads = run("import --from folded-threads -o - app.folded");
    EXPECT_EQ(Json::parse(threads.out).at("Categories").at(0).at("Name"), "main");
    EXPECT_EQ(Json::parse(threads.out).at("Functions").size(), 2U);
}

TEST_F(SampleProgram, shows_foreign_files_in_every_view) {
    write("app.txt", "app 7/8 [000] 1.5: 2000000 cpu-clock: \n\tff f+0x1 (/a)\n  a.c:3\n\n");
    EXPECT_NE(run("report --view threads app.txt").out.find("app"), std::string::npos);
    EXPECT_NE(run("report --view callgraph --lines app.txt").out.find("f:3"), std::string::npos);
    EXPECT_EQ(run("export --format folded app.txt").out, "app;f 2000\n");
    const Outcome refused = run("report --lines --from folded-threads a.folded");
    EXPECT_EQ(refused.code, 1);
    write("a.folded", "main;f 2\n");
    EXPECT_NE(run("report --lines a.folded").err.find("--lines needs lines: a.folded"),
              std::string::npos);
    for (const std::string option : {"--group memory", "--hide memory"}) {
        const Outcome outcome = run("report " + option + " a.folded");
        EXPECT_EQ(outcome.code, 1) << option;
        EXPECT_NE(
            outcome.err.find("need a recording, or a file that tells memory management apart"),
            std::string::npos)
            << outcome.err;
    }
    for (const std::string option : {"--resymbolize", "--debug-dir /usr/lib/debug"}) {
        const Outcome outcome = run("report " + option + " a.folded");
        EXPECT_EQ(outcome.code, 1) << option;
        EXPECT_NE(outcome.err.find("the names of a.folded are what the file says"),
                  std::string::npos)
            << outcome.err;
    }
    EXPECT_NE(run("report --category module a.folded").err.find("--category needs a recording"),
              std::string::npos);
    EXPECT_NE(run("annotate f a.folded").err.find("a.folded is no recording of sample"),
              std::string::npos);
}

TEST_F(SampleProgram, shows_no_number_of_samples_that_the_file_does_not_say) {
    write("a.folded", "worker;f 3\n");
    const Json functions = Json::parse(run("report --view functions --json a.folded").out);
    EXPECT_TRUE(functions.at("functions").at(0).at("samples").is_null());
    EXPECT_TRUE(functions.at("functions").at(0).at("self_samples").is_null());
    const Json nodes = Json::parse(run("report --view callgraph --json a.folded").out);
    EXPECT_TRUE(nodes.at("nodes").at(0).at("samples").is_null());
    const Json stats = Json::parse(run("report --view stats --json a.folded").out);
    EXPECT_TRUE(stats.at("samples").is_null());
    const Json diff = Json::parse(run("diff --json a.folded a.folded").out);
    EXPECT_EQ(diff.dump().find("samples\":0"), std::string::npos) << diff.dump();
    EXPECT_NE(run("report --view functions a.folded").out.find("          -  f"),
              std::string::npos);
    EXPECT_NE(run("export --format csv a.folded").out.find(",3,3,,,100"), std::string::npos);
}

TEST_F(SampleProgram, shows_names_of_processes_as_the_file_has_them) {
    write("app.txt", "kworker/0:1 7/7 [000] 1.5: 2000000 cpu-clock: \n\tff f+0x1 ([k])\n\n");
    const std::string threads = run("report --view threads app.txt").out;
    EXPECT_TRUE(threads.ends_with("  kworker/0:1  kworker/0:1\n")) << threads;
}

TEST_F(SampleProgram, reads_what_comes_from_a_pipe) {
    record("a.utrace");
    write("a.folded", "main;f 2\n");
    for (const std::string words : {"report", "export --format json", "annotate 0x2000"}) {
        const Outcome piped = run(words + " -", "cat a.utrace |");
        EXPECT_EQ(piped.code, 0) << words << piped.err;
        EXPECT_EQ(piped.out, run(words + " a.utrace").out) << words;
    }
    EXPECT_EQ(run("annotate -", "cat a.utrace |").err, run("annotate a.utrace").err);
    EXPECT_EQ(Json::parse(run("import -", "cat a.folded |").out).at("Unit"), "counts");
    EXPECT_NE(run("report -").err.find("standard input is empty"), std::string::npos);
}

/// 10^18 ns in a session of one millisecond.
TEST_F(SampleProgram, does_not_scale_beyond_64_bits) {
    write("a.json", R"({"Version":2,"SessionStartTime":1,"SessionEndTime":2,
        "Categories":[{"Name":"c","NodeId":1}],
        "Nodes":[{"TotalDuration":1000000000000000,"Samples":9}],"Functions":[]})");
    const Outcome outcome = run("diff --average 10m a.json a.json");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("too large to be scaled"), std::string::npos) << outcome.err;
    EXPECT_EQ(run("diff a.json a.json").code, 0);
}

TEST_F(SampleProgram, imports_no_recording) {
    record("a.utrace");
    EXPECT_NE(run("import a.utrace").err.find("a.utrace is a recording of sample: every verb"),
              std::string::npos);
    EXPECT_NE(run("report --from folded a.utrace").err.find("--from is for foreign files"),
              std::string::npos);
}

TEST_F(SampleProgram, reads_back_what_it_exports) {
    record("a.utrace");
    const auto functions = [this](const std::string& file) {
        const Json view = Json::parse(run("report --view functions --json " + file).out);
        Json result;
        for (const Json& each : view.at("functions")) {
            result[each.at("name").get<std::string>()] = {each.at("total_us"), each.at("self_us")};
        }
        return result;
    };
    const Json expected = functions("a.utrace");
    EXPECT_EQ(expected.size(), 2U);
    for (const std::string format : {"json", "pprof", "speedscope", "perf-script"}) {
        const std::string file = "a." + format;
        std::string words = "export --format ";
        words.append(format).append(" -o ").append(file).append(" a.utrace");
        EXPECT_EQ(run(words).code, 0);
        EXPECT_EQ(functions(file), expected) << format;
        EXPECT_EQ(run("import --force -o b.json " + file).code, 0);
        EXPECT_EQ(functions("b.json"), expected) << format;
    }
    EXPECT_EQ(run("export --format folded -o a.folded a.utrace").code, 0);
    const Json folded =
        Json::parse(run("report --view functions --json --from folded-threads a.folded").out);
    for (const Json& each : folded.at("functions")) {
        EXPECT_EQ((Json{each.at("total_count"), each.at("self_count")}),
                  expected.at(each.at("name").get<std::string>()));
    }
}

}  // namespace
}  // namespace sample::cli
