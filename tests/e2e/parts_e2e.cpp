// A recording in parts: each is read like any other, together they have all of it, and what is too
// old or too large is removed.
#include "beside.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

namespace sample::e2e {
namespace {

namespace fs = std::filesystem;

class Parts : public Session {
protected:
    /// `sample --freq 10k OPTIONS -o recording() -- COMMAND`.
    [[nodiscard]] Outcome record_in_parts(const Words& options, const Words& command) const {
        Words words{"--freq", "10k", "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return sample(words);
    }
    [[nodiscard]] fs::path numbered(int number) const {
        const std::string text = std::to_string(number);
        return file("r." + std::string(4 - text.size(), '0') + text + ".utrace");
    }
    /// All that there are, the oldest first.
    [[nodiscard]] std::vector<fs::path> parts() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator{recording().parent_path()}) {
            const std::string name = entry.path().filename();
            if (name.starts_with("r.0") && name.ends_with(".utrace")) {
                found.push_back(entry.path());
            }
        }
        std::sort(found.begin(), found.end());
        found.push_back(recording());
        return found;
    }
    [[nodiscard]] std::string functions_of(const fs::path& part) const {
        const Outcome outcome = sample({"report", "--view", "functions", part});
        EXPECT_EQ(outcome.exit_code, 0) << part << outcome.err;
        return outcome.out;
    }
};

TEST_F(Parts, have_together_the_time_of_the_program) {
    const Outcome outcome = record_in_parts({"--quiet", "--rotate", "500ms", "--keep", "1h"},
                                            {target("three_leaves"), "2.5"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    double used_us = 0;
    double squares = 0;  // of the weights of all samples
    double fifty_us = 0;
    const auto all = parts();
    EXPECT_GE(all.size(), 3U);
    for (const fs::path& part : all) {
        const Recording seen{part};
        EXPECT_TRUE(seen.flag("whole")) << part;
        // The last one may begin behind the program's end, and has no process then.
        EXPECT_GE(seen.stat("processes"), part == recording() ? 0 : 1) << part;
        EXPECT_LE(seen.stat("processes"), 1) << part;
        used_us += seen.used_us();
        fifty_us += seen.total_us("leaf_fifty");
        if (seen.stat("samples") > 0) {
            squares += seen.stat("sampled_us") * seen.stat("sampled_us") / seen.effective_samples();
        }
        if (part != recording()) {
            EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 2) << part;
        }
    }
    EXPECT_NEAR(used_us / told(outcome.out, "process_cpu_us"), 1, 0.03);
    expect_share(fifty_us, used_us, 0.5, used_us * used_us / squares);
}

TEST_F(Parts, have_the_names_of_a_program_that_is_gone) {
    fs::copy_file(target("three_leaves"), file("app"));
    const std::string script =
        "./app 2 & until readlink /proc/$!/exe | grep -q '/app$'; do sleep "
        "0.01; done; rm app; wait";
    RunOptions here;
    here.directory = recording().parent_path();
    const Outcome outcome = sample({"--quiet", "--freq", "10k", "--rotate", "300ms", "-o",
                                    recording(), "--", "/bin/sh", "-c", script},
                                   here);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const auto all = parts();
    ASSERT_GE(all.size(), 4U);
    int sampled = 0;
    for (auto part = all.begin() + 1; part + 1 != all.end(); ++part) {
        if (Recording{*part}.stat("samples") == 0) {
            continue;  // on a busy machine the program may have no processor so long
        }
        ++sampled;
        EXPECT_NE(functions_of(*part).find("leaf_fifty"), std::string::npos) << *part;
    }
    EXPECT_GT(sampled, 0);
}

TEST_F(Parts, have_only_the_processes_of_their_time) {
    const std::string script =
        target("three_leaves") + " 1 > /dev/null; " + target("deep") + " 1.5 > /dev/null";
    const Outcome outcome =
        record_in_parts({"--quiet", "--rotate", "200ms"}, {"/bin/sh", "-c", script});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto all = parts();
    ASSERT_GE(all.size(), 4U);
    EXPECT_EQ(functions_of(all.front()).find("deep.cpp"), std::string::npos);
    const Recording late{all[all.size() - 2]};
    EXPECT_GT(late.total_us("level<29u>"), 0);
    EXPECT_EQ(late.total_us("leaf_fifty"), 0);
    for (const auto& process : late.stats()["process_list"]) {
        EXPECT_FALSE(process["executable"].get<std::string>().ends_with("three_leaves")) << process;
    }
}

TEST_F(Parts, that_are_too_old_are_removed) {
    const Outcome outcome =
        record_in_parts({"--rotate", "200ms", "--keep", "1s"}, {target("three_leaves"), "3"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::size_t kept = parts().size() - 1;  // none, where a busy machine ends parts late
    std::smatch told;
    ASSERT_TRUE(std::regex_search(
        outcome.err, told,
        std::regex{"(\\d+) earlier parts?[^;\n]*; (?:an|(\\d+)) older ones? w(?:as|ere) removed"}))
        << outcome.err;
    EXPECT_EQ(told[1], std::to_string(kept));
    const int removed = told[2].matched ? std::stoi(told[2]) : 1;
    for (int number = 1; number <= removed; ++number) {
        EXPECT_FALSE(fs::exists(numbered(number))) << number;
    }
    for (int number = removed + 1; number <= removed + static_cast<int>(kept); ++number) {
        EXPECT_TRUE(fs::exists(numbered(number))) << number;
    }
}

TEST_F(Parts, take_no_more_room_than_they_may) {
    int seconds = 1;
    do {  // where samples are dear there are few
        for (const fs::path& part : parts()) {
            fs::remove(part);
        }
        seconds *= 4;
        const Outcome outcome =
            record_in_parts({"--quiet", "--no-symbols", "--max-size", "100K", "--rotate", "200ms"},
                            {target("three_leaves"), std::to_string(seconds)});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    } while (fs::exists(numbered(1)) && seconds < 100);
    std::uintmax_t bytes = 0;
    for (const fs::path& part : parts()) {
        bytes += fs::file_size(part);
    }
    EXPECT_LE(bytes, 100'000U);
    EXPECT_FALSE(fs::exists(numbered(1)));
    EXPECT_GE(parts().size(), 2U);
}

TEST_F(Parts, can_be_read_at_any_time) {
    const Beside recorder{{sample_path(), "--quiet", "--freq", "10k", "--rotate", "100ms", "-o",
                           recording(), "--", target("three_leaves"), "3"},
                          file("out")};
    int reports = 0;
    while (!fs::exists(numbered(8))) {
        if (fs::exists(numbered(1))) {
            const Outcome outcome = sample({"report", "--view", "stats", "--json", recording()});
            EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
            ++reports;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    EXPECT_GT(reports, 0);
}

TEST_F(Parts, go_on_in_one_if_there_is_no_place_for_the_next) {
    const fs::path folder = file("gone");
    fs::create_directory(folder);
    const std::string script = target("three_leaves") + " 0.3; rm -r " + folder.string() + "; " +
                               target("three_leaves") + " 1; exit 5";
    const Outcome outcome = sample(
        {"--quiet", "--rotate", "200ms", "-o", folder / "r.utrace", "--", "/bin/sh", "-c", script});
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    const std::string trouble = "the recording goes on in the part that it is in";
    const std::size_t said = outcome.err.find(trouble);
    ASSERT_NE(said, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(trouble, said + 1), std::string::npos) << outcome.err;
}

TEST_F(Parts, are_files) {
    const Outcome outcome =
        sample({"--rotate", "1s", "-o", "/dev/null", "--", "touch", file("touched")});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("is no regular file"), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(file("touched")));
}

class AttachParts : public Attach {};

TEST_F(AttachParts, have_together_the_time_of_the_process) {
    const auto program = start({target("three_leaves"), "60"});
    const Outcome outcome = attach({"--time", "2s", "--rotate", "400ms", program->pid()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    int found = 0;
    for (int number = 1; number < 10; ++number) {
        const fs::path part = file("r.000" + std::to_string(number) + ".utrace");
        if (!fs::exists(part)) {
            break;
        }
        const Recording seen{part};
        EXPECT_TRUE(seen.flag("whole"));
        EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 2) << part;
        EXPECT_GT(seen.total_us("leaf_fifty"), 0.3 * seen.roots_us()) << part;
        ++found;
    }
    EXPECT_GE(found, 2);
    const Recording last{recording()};
    EXPECT_NEAR(last.roots_us(), last.stat("process_cpu_us"), 2);
}

class MachineParts : public Machine {};

TEST_F(MachineParts, have_a_process_of_the_machine_each) {
    const auto program = start({target("three_leaves"), "60"});
    const Outcome outcome = record_all({"--time", "3s", "--rotate", "1s", "--no-symbols"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const fs::path& part : {file("r.0001.utrace"), file("r.0002.utrace")}) {
        // Not all programs of the machine are to be named for this.
        const Outcome report = sample({"report", "--view", "stats", "--json", part});
        const auto seen = nlohmann::json::parse(report.out, nullptr, false);
        ASSERT_FALSE(seen.is_discarded()) << report.err;
        EXPECT_TRUE(seen["whole"]) << part;
        const std::string processes = seen["process_list"].dump();
        EXPECT_NE(processes.find("three_leaves"), std::string::npos) << part << processes;
    }
}

}  // namespace
}  // namespace sample::e2e
