// The example of two processes, in C++ and in Python: both print the same.
#include "sessions_folder.h"
#include "tests/built.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace sample::api {
namespace {

struct Printed {
    std::string out;
    int code = -1;
};

Printed run(const std::string& command) {
    Printed printed;
    // NOLINTNEXTLINE(cert-env33-c): a test's own words
    FILE* const out = ::popen((command + " 2>&1").c_str(), "re");
    for (int letter = std::fgetc(out); letter != EOF; letter = std::fgetc(out)) {
        printed.out += static_cast<char>(letter);
    }
    const int status = ::pclose(out);
    printed.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return printed;
}

std::string comm(pid_t pid) {
    std::string name;
    std::ifstream in{"/proc/" + std::to_string(pid) + "/comm"};
    std::getline(in, name);
    return name;
}

class TwoProcesses : public SessionsFolder, public testing::WithParamInterface<const char*> {};

TEST_P(TwoProcesses, are_profiled_together_and_shown_by_inclusive_time) {
    const auto client = session("1", ::getpid());
    const auto server = session("2", ::getppid());
    client->change([](SessionState& state) {
        std::ifstream in{std::string{built::kImportData} + "/json/published_example.json"};
        state.json.assign(std::istreambuf_iterator<char>{in}, {});
    });
    server->change([](SessionState& state) {
        state.json =
            R"({"Version":2,"Categories":[],"Nodes":[],"Functions":[{"TotalDuration":5}]}
)";
    });
    const Printed printed = run(std::string{GetParam()} + " " + std::to_string(::getpid()) + " " +
                                std::to_string(::getppid()) + " 0");
    EXPECT_EQ(printed.out, comm(::getpid()) + " (" + std::to_string(::getpid()) + R"()
        7.75 ms  Script
        7.75 ms  Workspace.Actor.Script:1
        2.53 ms  main
        1.27 ms  builtin_ManageCollaborators.rbxm.ManageCollaborators.Packages._Index.roblox_rodux-3.0.0.rodux.Store:81
        1.26 ms  builtin_DeveloperInspector.rbxm.DeveloperInspector.Packages._Index.DeveloperFramework.DeveloperFramework.UI.Components.Grid:221
        1.26 ms  _update
        1.26 ms  _getRange
        1.26 ms  ScrollingFrame.CanvasPosition
)" + comm(::getppid()) + " (" + std::to_string(::getppid()) +
                               ")\n        0.01 ms  <anonymous>\n");
    EXPECT_EQ(printed.code, 0);
    for (FakeSession* each : {client.get(), server.get()}) {
        const std::vector<std::string> requests = each->state().requests;
        EXPECT_EQ(std::vector<std::string>(requests.end() - 3, requests.end()),
                  (std::vector<std::string>{"start freq=1000", "stop", "data"}));
    }
}

TEST_P(TwoProcesses, that_nobody_records_are_an_error) {
    const Printed printed = run(std::string{GetParam()} + " nobody neither 0");
    EXPECT_NE(printed.out.find("no session"), std::string::npos) << printed.out;
    EXPECT_EQ(printed.code, 1);
}

INSTANTIATE_TEST_SUITE_P(InEachLanguage, TwoProcesses,
                         testing::Values(built::kTwoProcesses, built::kTwoProcessesPy));

}  // namespace
}  // namespace sample::api
