#include "analysis/advice.h"

#include "tests/cli/folder_test.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

namespace sample::analysis {
namespace {

class AdviceTest : public cli::FolderTest {
protected:
    void SetUp() override {
        cli::FolderTest::SetUp();
        profile.nodes.emplace_back().total = 1000;
        profile.stats.source = "sigtrap";
        profile.modules = {
            {}, {"libfoo.so.1", "/usr/lib/libfoo.so.1", ""}, {"app", "/home/app", ""}};
        std::ofstream{path("libfoo1:amd64.list")} << "/.\n/lib/libfoo.so.1\n";
        std::ofstream{path("other.list")} << "/lib/libfoo.so.12\n";
    }
    void add(const std::string& name, std::uint32_t module, std::uint64_t self) {
        callgraph::Function& function = profile.functions.emplace_back();
        function.name = name;
        function.module = module;
        function.self = function.total = self;
    }
    [[nodiscard]] std::string advice() const {
        std::string all;
        for (const std::string& line : advise(profile, folder_)) {
            all += line + "\n";
        }
        return all;
    }

    callgraph::Profile profile;
};

TEST_F(AdviceTest, names_the_package_of_a_module_without_names) {
    add("libfoo.so.1+0x10", 1, 60);
    EXPECT_EQ(advice(), "") << "too little";
    add("libfoo.so.1+0x20", 1, 60);
    add("foo_of_a_name", 1, 500);
    EXPECT_EQ(advice(),
              "12.0 % is in libfoo.so.1 without names: apt install libfoo1-dbgsym has them (from "
              "Debian's archive debian-debug); then sample report --resymbolize\n");
    std::filesystem::remove(path("libfoo1:amd64.list"));
    EXPECT_NE(advice().find("sample report --debuginfod"), std::string::npos) << advice();
}

TEST_F(AdviceTest, names_the_package_of_a_file_by_either_of_its_paths) {
    constexpr const char* kName = "/lib/libbar.so.2";
    const std::array<std::string, 2> paths{kName, std::string{"/usr"} + kName};
    profile.modules.push_back({"libbar.so.2", "", ""});
    add("libbar.so.2+0x10", 3, 600);
    for (const std::string& listed : paths) {
        std::ofstream{path("libbar2.list")} << "/.\n" << listed << "\n";
        for (const std::string& loaded : paths) {
            profile.modules.back().path = loaded;
            EXPECT_NE(advice().find("apt install libbar2-dbgsym"), std::string::npos)
                << listed << ": " << advice();
        }
    }
    std::filesystem::remove(path("libbar2.list"));
    profile.modules.back().path = kName;
    EXPECT_NE(advice().find("sample report --debuginfod"), std::string::npos) << advice();
}

TEST_F(AdviceTest, says_nothing_of_symbols_in_a_file_that_could_not_be_read) {
    add("app+0x10", 2, 600);
    EXPECT_NE(advice().find("app without names: no symbols of it were found"), std::string::npos);
    profile.stats.notes = {"/home/app2 is gone"};
    EXPECT_NE(advice(), "") << "of another file";
    profile.stats.notes = {"/home/app is gone: put it back to see its functions' names"};
    EXPECT_EQ(advice(), "");
    profile.stats.notes.clear();
    profile.modules.back() = {"app (deleted)", "/home/app (deleted)", ""};
    profile.functions.back().name = "app (deleted)+0x10";
    EXPECT_EQ(advice(), "");
}

TEST_F(AdviceTest, has_what_weighs_most_first) {
    add("app+0x10", 2, 200);
    add("libfoo.so.1+0x10", 1, 300);
    EXPECT_LT(advice().find("libfoo.so.1"), advice().find("app without names: no symbols"));
}

TEST_F(AdviceTest, names_the_option_of_a_runtime) {
    add("[jit code]", 0, 500);
    EXPECT_NE(advice().find("50.0 % is in code made at run time without names: an option"),
              std::string::npos);
    profile.processes.emplace_back().executable = "/usr/bin/node";
    EXPECT_NE(advice().find("node --perf-basic-prof --interpreted-frames-native-stack"),
              std::string::npos);
    profile.processes.back().executable = "/usr/bin/tomcat";
    profile.modules.push_back({"libjvm.so", "/usr/lib/jvm/libjvm.so", ""});
    EXPECT_NE(advice().find("-XX:+DumpPerfMapAtExit"), std::string::npos);
    profile.modules.pop_back();
    profile.processes.back().executable = "/usr/lib/erlang/erts-13.1.5/bin/beam.smp";
    EXPECT_NE(advice().find("erl +JPperf true"), std::string::npos);
    profile.processes.back().executable = "/usr/bin/php8.2";
    EXPECT_NE(advice().find("php -d opcache.jit_debug=16"), std::string::npos);
}

TEST_F(AdviceTest, says_how_python_names_its_functions) {
    add("_PyEval_EvalFrameDefault", 2, 900);
    EXPECT_NE(advice().find("90.0 % is in Python code: python3 -X perf"), std::string::npos);
    add("main", 0, 0);
    profile.functions.back().flags = callgraph::kNative;
    profile.functions.back().source = "/home/app.py";
    EXPECT_EQ(advice(), "") << "it does already";
}

TEST_F(AdviceTest, says_how_java_keeps_its_callers) {
    profile.modules.push_back({"libjvm.so", "/usr/lib/jvm/libjvm.so", ""});
    profile.stats.samples = 100;
    profile.stats.incomplete_stacks = 5;
    EXPECT_EQ(advice(), "") << "few";
    profile.stats.guessed_stacks = 6;
    EXPECT_EQ(advice(),
              "11.0 % of the stacks lack callers, or guess them: java "
              "-XX:+PreserveFramePointer shows them\n");
    profile.processes.emplace_back().command_line = "java -XX:+PreserveFramePointer Main";
    EXPECT_EQ(advice(), "") << "it does already";
    profile.processes.pop_back();
    add("[jit code]", 0, 500);
    const std::string all = advice();
    EXPECT_EQ(all.find("PreserveFramePointer"), all.rfind("PreserveFramePointer")) << all;
}

TEST_F(AdviceTest, says_what_shows_who_calls_the_kernel) {
    add("[kernel, caller unseen]", 0, 100);
    EXPECT_NE(advice().find("sudo sysctl kernel.perf_event_paranoid=1"), std::string::npos);
    profile.stats.source = "attach";
    EXPECT_NE(advice().find("sudo sysctl kernel.perf_event_paranoid=1"), std::string::npos);
    profile.stats.source = "perf";
    EXPECT_NE(advice().find("sample doctor"), std::string::npos);
    profile.stats.source = "";
    EXPECT_EQ(advice(), "") << "another profiler's";
}

}  // namespace
}  // namespace sample::analysis
