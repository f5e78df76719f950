// Asks the analysis library for the events of a file that is none, and prints what it says.
#include <sample/analysis.hpp>

#include <cstdio>
#include <memory>
#include <string>

class Nothing : public sample::analysis::Analyzer {
    void on_analysis_begin(sample::analysis::Subscriptions& subscriptions) override {
        subscriptions.route_event(1, "Logger", "Event");
    }
    bool on_event(std::uint16_t, sample::analysis::Style, const sample::analysis::Event&) override {
        return true;
    }
};

int main() {
    sample::analysis::Session session;
    session.add_analyzer(std::make_unique<Nothing>());
    const sample::analysis::Outcome outcome = session.analyze_file("/dev/null");
    std::puts(std::string{outcome.problem()}.c_str());
}
