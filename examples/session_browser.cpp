// Prints what each .utrace file says of its session, as a list of recordings would show it. It
// reads no further than to the event that says so.
//
//     session_browser FILE...
#include "examples/shown.h"
#include "sample/analysis.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace {

using sample::analysis::Event;
using sample::analysis::Style;
using sample::analysis::Subscriptions;

struct SessionFacts {
    bool are_known = false;
    std::string application;
    std::string project;
    std::string platform;
    std::string build;
    std::string command_line;
};

class SessionAnalyzer : public sample::analysis::Analyzer {
public:
    explicit SessionAnalyzer(SessionFacts& facts) : facts_{facts} {}

    void on_analysis_begin(Subscriptions& subscriptions) override {
        subscriptions.route_event(0, "Diagnostics", "Session2");
    }

    bool on_event(std::uint16_t /*route*/, Style /*style*/, const Event& event) override {
        facts_.are_known = true;
        facts_.application = event.string("AppName");
        facts_.project = event.string("ProjectName");
        facts_.platform = event.string("Platform");
        facts_.build = event.string("BuildVersion");
        facts_.command_line = event.string("CommandLine");
        return false;  // Nothing else is needed: the analysis stops.
    }

private:
    SessionFacts& facts_;
};

bool browse(const char* path) {
    SessionFacts facts;
    sample::analysis::Session session;
    session.add_analyzer(std::make_unique<SessionAnalyzer>(facts));
    const sample::analysis::Outcome outcome = session.analyze_file(path);
    if (!facts.are_known) {
        const std::string problem{outcome.problem()};
        std::printf("%s: %s\n", path,
                    problem.empty() ? "says nothing of its session" : problem.c_str());
        return false;
    }
    std::printf("%s: %s %s on %s, build %s: %s (%" PRIu64 " bytes read)\n", path,
                shown(facts.application).c_str(), shown(facts.project).c_str(),
                shown(facts.platform).c_str(), shown(facts.build).c_str(),
                shown(facts.command_line).c_str(), outcome.bytes_read());
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    bool are_all_known = true;
    for (int i = 1; i < argc; ++i) {
        are_all_known = browse(argv[i]) && are_all_known;
    }
    return are_all_known ? 0 : 1;
}
