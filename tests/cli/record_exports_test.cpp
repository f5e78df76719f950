#include "cli/record/recording.h"
#include "tests/cli/folder_test.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>

namespace sample::cli {
namespace {

class RecordExports : public FolderTest {
protected:
    /// Asks for folded stacks in each of `paths`.
    [[nodiscard]] static RecordOptions options(std::initializer_list<std::string> paths,
                                               bool force = false) {
        RecordOptions options;
        options.force = force;
        for (const std::string& path : paths) {
            options.exports.push_back({&analysis::export_formats()[1], path});
        }
        return options;
    }
    /// What is said of them; empty if they may be written.
    [[nodiscard]] std::string refusal(RecordOptions options) const {
        const auto named = name_exports(options, "/usr/bin/app", 17, path("app.utrace"));
        return named ? "" : named.error().message();
    }
};

TEST_F(RecordExports, fills_patterns_in) {
    RecordOptions asked = options({path("%n-%p.txt"), path("b.txt")});
    ASSERT_TRUE(name_exports(asked, "/usr/bin/app", 17, path("app.utrace")).has_value());
    EXPECT_EQ(asked.exports[0].path, path("app-17.txt"));
    EXPECT_EQ(asked.exports[1].path, path("b.txt"));
}

TEST_F(RecordExports, never_write_over_the_recording_or_each_other) {
    for (const bool force : {false, true}) {
        EXPECT_NE(refusal(options({path("app.utrace")}, force)).find("named twice"),
                  std::string::npos);
        EXPECT_NE(refusal(options({path("%n.utrace")}, force)).find("named twice"),
                  std::string::npos);
        EXPECT_NE(refusal(options({path("a.txt"), (folder_ / "." / "a.txt").string()}, force))
                      .find("named twice"),
                  std::string::npos);
    }
}

TEST_F(RecordExports, never_write_over_the_recording_through_a_link) {
    std::filesystem::create_symlink(path("app.utrace"), path("link"));
    EXPECT_NE(refusal(options({path("link")}, true)).find("named twice"), std::string::npos);
}

TEST_F(RecordExports, existing_files_need_force) {
    std::ofstream{path("a.txt")} << "old";
    EXPECT_NE(refusal(options({path("a.txt")})).find("--force"), std::string::npos);
    EXPECT_EQ(refusal(options({path("a.txt")}, true)), "");
}

TEST_F(RecordExports, an_older_recording_is_gone_only_once_the_new_one_is_kept) {
    const auto files = [this] {
        return std::distance(std::filesystem::directory_iterator{folder_},
                             std::filesystem::directory_iterator{});
    };
    std::ofstream{path("app.utrace")} << "old";
    for (const bool is_kept : {false, true}) {
        auto recording = open_recording(path("app.utrace"), true);
        ASSERT_TRUE(recording.has_value()) << recording.error().message();
        EXPECT_EQ(std::filesystem::file_size(path("app.utrace")), 0U);
        if (is_kept) {
            recording->keep();
        }
        recording->discard();
        EXPECT_EQ(std::filesystem::exists(path("app.utrace")), !is_kept);
        while (files() != (is_kept ? 0 : 1)) {  // the older one is removed beside
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
}

TEST_F(RecordExports, devices_need_no_force) {
    EXPECT_EQ(refusal(options({"/dev/null", "/dev/null"})), "");
}

TEST_F(RecordExports, a_recording_is_no_standard_output_and_no_option) {
    RecordOptions standard_output;
    standard_output.output = "-";
    const auto refused = prepare_recording(standard_output, "/bin/app", 1);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message().find("needs a file"), std::string::npos);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    RecordOptions dash;
    dash.output = "-%p.utrace";
    const auto prepared = prepare_recording(dash, "/bin/app", 1);
    std::filesystem::current_path(before);
    ASSERT_TRUE(prepared.has_value()) << prepared.error().message();
    EXPECT_EQ(prepared->path, "./-1.utrace");
}

TEST_F(RecordExports, what_cannot_be_written_is_refused_before_the_command_starts) {
    EXPECT_NE(refusal(options({folder_.string()})).find("is a directory"), std::string::npos);
    EXPECT_NE(refusal(options({folder_.string()}, true)).find("is a directory"), std::string::npos);
    EXPECT_NE(refusal(options({path("missing/a.txt")})).find("No such file"), std::string::npos);
    EXPECT_NE(refusal(options({"-"})).find("standard output is the command's"), std::string::npos);
}

}  // namespace
}  // namespace sample::cli
