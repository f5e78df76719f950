// Memory that a walk reads and that the program takes away: the stack ends there, the program goes
// on as without us.
#include "each_source.h"

namespace sample::e2e {
namespace {

class Unreadable : public EachSource {
protected:
    /// Samples whose stack ended because the next word could not be read.
    [[nodiscard]] double ended_stacks() const {
        const Outcome report = sample({"report", "--view", "stats", "--json", recording()});
        const auto seen = nlohmann::json::parse(report.out, nullptr, false);
        double samples = 0;
        for (const nlohmann::json& broken : seen.value("broken_stacks", nlohmann::json::array())) {
            samples +=
                broken.at("reason") == "unreadable_memory" ? broken.at("samples").get<double>() : 0;
        }
        return samples;
    }
};

TEST_P(Unreadable, tables_of_a_library_whose_file_was_cut_end_the_stack) {
    expect_same({target("cut_library"), target("plugin.so"), file("copy.so"), "0.2"});
    EXPECT_GT(ended_stacks(), 0);
}

TEST_P(Unreadable, pages_of_a_stack_that_was_left_end_the_stack) {
    for (const Words& words : {Words{}, Words{"default"}}) {
        Words command{target("lost_stack"), "300000000"};
        command.insert(command.end(), words.begin(), words.end());
        expect_same(command);
        EXPECT_GT(ended_stacks(), 0);
    }
}

SAMPLE_FOR_EACH_SOURCE(Unreadable);

}  // namespace
}  // namespace sample::e2e
