// Files that are cut off while `sample` reads them: it says so and goes on.
#include "session.h"
#include "tests/built.h"

#include <filesystem>
#include <fstream>

namespace sample::e2e {
namespace {

namespace fs = std::filesystem;

class ChangedFiles : public Session {
protected:
    /// `sample ARGUMENTS`, for which `cut` is cut off when it is mapped for the nth time.
    [[nodiscard]] Outcome sample_cutting(const fs::path& cut, int nth,
                                         const Words& arguments) const {
        return sample(arguments, {{},
                                  {{"LD_PRELOAD", built::kCutWhenMapped},
                                   {"CUT_FILE", cut.string()},
                                   {"CUT_NTH", std::to_string(nth)}},
                                  {}});
    }
    void copy_app() const {
        fs::copy_file(target("three_leaves"), file("app"), fs::copy_options::overwrite_existing);
    }
};

TEST_F(ChangedFiles, cost_a_module_its_names_and_nothing_else) {
    copy_app();
    ASSERT_EQ(record({file("app"), "0.3"}).exit_code, 0);
    const Words report{"report", "--view", "functions", "--resymbolize", "--no-cache", recording()};
    bool was_named = false;
    // Each way of reading maps the file anew; in the end it is cut off too late.
    for (int nth = 1; nth < 30 && !was_named; ++nth) {
        copy_app();
        const Outcome outcome = sample_cutting(file("app"), nth, report);
        EXPECT_EQ(outcome.exit_code, 0) << nth << ": " << outcome.signal << outcome.err;
        was_named = fs::file_size(file("app")) != 0;
        EXPECT_EQ(outcome.out.find("leaf_fifty") != std::string::npos, was_named) << outcome.out;
        EXPECT_NE(outcome.out.find(was_named ? "leaf_fifty" : "app+0x"), std::string::npos)
            << outcome.out;
    }
    EXPECT_TRUE(was_named);
    const Outcome stats = sample_cutting(
        file("app"), 2, {"report", "--view", "stats", "--resymbolize", "--no-cache", recording()});
    EXPECT_NE(stats.out.find("app changed while it was read"), std::string::npos) << stats.out;
}

TEST_F(ChangedFiles, cost_a_recording_its_report) {
    ASSERT_EQ(record({target("three_leaves"), "0.1"}).exit_code, 0);
    const Outcome cut = sample_cutting(recording(), 1, {"report", recording()});
    EXPECT_EQ(cut.exit_code, 1) << cut.signal << cut.out;
    EXPECT_NE(cut.err.find("was cut off while it was read"), std::string::npos) << cut.err;
    const fs::path foreign = file("stacks.txt");
    std::ofstream{foreign} << "main;work 3\n";
    const Outcome outcome = sample_cutting(foreign, 1, {"report", foreign});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.signal << outcome.out;
    EXPECT_NE(outcome.err.find("was cut off while it was read"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace sample::e2e
