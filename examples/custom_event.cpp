// Reads two events of a program's own, "RainbowLogger.ZippyEvent" and "BoniLogger.BarkEvent", from
// a .utrace file and prints a report: an analyzer takes the data out of the events, a provider
// keeps it, and the report asks the provider. raises_events.cpp is a program that has such events.
//
//     custom_event FILE
#include "examples/shown.h"
#include "sample/analysis.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using sample::analysis::Event;
using sample::analysis::Style;
using sample::analysis::Subscriptions;

struct Zippy {
    std::string thread;
    Style style = Style::plain;
    std::uint32_t number = 0;
    double share = 0;
    std::string text;
    std::vector<std::int64_t> values;
};

struct Bark {
    std::string woof;
    std::vector<std::int64_t> values;
};

/// Any thread may read it while the analysis goes on.
class RainbowProvider : public sample::analysis::Provider {
public:
    void add(Zippy zippy) {
        const EditScope edit{*this};
        zippies_.push_back(std::move(zippy));
    }
    void add(Bark bark) {
        const EditScope edit{*this};
        barks_.push_back(std::move(bark));
    }
    [[nodiscard]] std::vector<Zippy> zippies() const {
        const ReadScope read{*this};
        return zippies_;
    }
    [[nodiscard]] std::vector<Bark> barks() const {
        const ReadScope read{*this};
        return barks_;
    }

private:
    std::vector<Zippy> zippies_;
    std::vector<Bark> barks_;
};

class RainbowAnalyzer : public sample::analysis::Analyzer {
public:
    explicit RainbowAnalyzer(std::shared_ptr<RainbowProvider> provider)
        : provider_{std::move(provider)} {}

    void on_analysis_begin(Subscriptions& subscriptions) override {
        subscriptions.route_event(kZippy, "RainbowLogger", "ZippyEvent");
        subscriptions.route_event(kBark, "BoniLogger", "BarkEvent");
    }

    bool on_event(std::uint16_t route, Style style, const Event& event) override {
        switch (route) {
            case kZippy:
                provider_->add(Zippy{std::string{event.thread().name}, style,
                                     event.value<std::uint32_t>("Field0"),
                                     event.value<double>("Field1"), event.string("Field3"),
                                     event.array<std::int64_t>("Field2")});
                break;
            case kBark:
                provider_->add(
                    Bark{event.string("WoofString"), event.array<std::int64_t>("DratField")});
                break;
            default:
                break;
        }
        return true;
    }

private:
    static constexpr std::uint16_t kZippy = 0;
    static constexpr std::uint16_t kBark = 1;

    std::shared_ptr<RainbowProvider> provider_;
};

std::string listed(const std::vector<std::int64_t>& values) {
    std::string text;
    for (const std::int64_t value : values) {
        text += (text.empty() ? "" : ", ") + std::to_string(value);
    }
    return "[" + text + "]";
}

void print_report(const RainbowProvider& provider) {
    for (const Bark& bark : provider.barks()) {
        std::printf("bark   %s %s\n", shown(bark.woof).c_str(), listed(bark.values).c_str());
    }
    for (const Zippy& zippy : provider.zippies()) {
        if (zippy.style == Style::leave) {
            std::printf("zippy  on %s ends\n", shown(zippy.thread).c_str());
            continue;
        }
        std::printf("zippy  on %s%s: %" PRIu32 " %g %s %s\n", shown(zippy.thread).c_str(),
                    zippy.style == Style::enter ? " begins" : "", zippy.number, zippy.share,
                    shown(zippy.text).c_str(), listed(zippy.values).c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: custom_event FILE\n", stderr);
        return 2;
    }
    sample::analysis::Session session;
    const auto provider = std::make_shared<RainbowProvider>();
    session.add_provider("RainbowProvider", provider);
    session.add_analyzer(std::make_unique<RainbowAnalyzer>(provider));
    const sample::analysis::Outcome outcome = session.analyze_file(argv[1]);
    print_report(*provider);
    if (!outcome.is_whole()) {
        std::fprintf(stderr, "%s: %s\n", argv[1], std::string{outcome.problem()}.c_str());
        return 1;
    }
    return 0;
}
