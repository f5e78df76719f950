// The examples for the analysis library, on streams that a test wrote.
#include "tests/built.h"
#include "tests/trace/foreign_writer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sample {
namespace {

namespace foreign = trace::foreign;
using foreign::Out;

class Example : public testing::Test {
protected:
    Example() {
        std::string pattern = testing::TempDir() + "sample-examples-XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~Example() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
    [[nodiscard]] std::string write(const std::string& name, const foreign::Stream& stream) const {
        std::string written = path(name);
        std::ofstream{written, std::ios::binary}.write(
            reinterpret_cast<const char*>(stream.bytes().data()),
            static_cast<std::streamsize>(stream.bytes().size()));
        return written;
    }
    /// What the program prints on both outputs. Its exit code goes to code_.
    std::string run(const std::string& program, const std::string& words) {
        const std::string out = folder_ + "/out";
        // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): a test's own words
        const int status = std::system((program + " " + words + " >" + out + " 2>&1").c_str());
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        std::ifstream in{out, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }

    int code_ = -1;

private:
    std::string folder_;
};

TEST_F(Example, custom_event_reports_what_the_events_say) {
    using namespace foreign;  // NOLINT(google-build-using-namespace)
    Stream stream;
    stream.begin(0, 1'000'000'000);
    stream.thread(2, 40, "main");
    stream.thread(3, 41, "worker");
    stream.declare(
        20, kHasAux, "RainbowLogger", "ZippyEvent",
        {{"Field0", kU32}, {"Field1", kF32}, {"Field2", kArray | kI32}, {"Field3", kWide}});
    stream.declare(21, kImportant | kNoSync | kHasAux, "BoniLogger", "BarkEvent",
                   {{"WoofString", kWide}, {"DratField", kArray | kI64}});
    stream.important(21, Out{}
                             .important_aux(0, wide(u"Woof \u001b"))
                             .important_aux(1, Out{}.number(5, 8).number(6, 8))
                             .important_end());
    const auto zippy = [](unsigned serial, unsigned number) {
        return Out{}
            .event(20, serial)
            .number(number, 4)
            .real(1.0F)
            .thread_aux(2, Out{}.number(1, 4).number(static_cast<std::uint32_t>(-3), 4))
            .thread_aux(3, wide(u"zip"))
            .thread_end();
    };
    stream.packet(3, Out{}.enter().add(zippy(2, 12)).leave());
    stream.packet(2, zippy(1, 11));
    EXPECT_EQ(run(built::kCustomEvent, write("a.utrace", stream)),
              "bark   Woof ? [5, 6]\n"
              "zippy  on main: 11 1 zip [1, -3]\n"
              "zippy  on worker begins: 12 1 zip [1, -3]\n"
              "zippy  on worker ends\n");
    EXPECT_EQ(code_, 0);
}

TEST_F(Example, custom_event_reads_what_a_program_of_ours_raises) {
    const std::string file = path("recorded.utrace");
    run(built::kSample,
        "record --trace itv,bbc,boni --freq off -o " + file + " -- " + built::kRaisesEvents);
    ASSERT_EQ(code_, 0);
    EXPECT_EQ(run(built::kCustomEvent, file),
              "bark   Woof [-9223372036854775808, -1, 9223372036854775807]\n"
              "zippy  on main: 4000000000 0.25 zip ???? [5, -6, 7000000000]\n"
              "zippy  on main begins: 0 1.5 scope []\n"
              "zippy  on main ends\n"
              "zippy  on main: 1 0 turn []\n"
              "zippy  on other: 2 0 turn []\n"
              "zippy  on main: 3 0 turn []\n"
              "zippy  on other: 4 0 turn []\n"
              "zippy  on main: 5 0 turn []\n"
              "zippy  on other: 6 0 turn []\n");
    EXPECT_EQ(code_, 0);
}

TEST_F(Example, session_browser_reads_no_more_than_it_needs) {
    using namespace foreign;  // NOLINT(google-build-using-namespace)
    Stream stream;
    stream.begin(0, 1'000'000'000);
    stream.declare(20, kImportant | kNoSync | kHasAux, "Diagnostics", "Session2",
                   {{"AppName", kAnsi},
                    {"ProjectName", kAnsi},
                    {"Platform", kAnsi},
                    {"BuildVersion", kAnsi},
                    {"CommandLine", kAnsi}});
    const std::string without = write("without.utrace", stream);
    Out facts;
    unsigned field = 0;
    for (const char* fact : {"Game", "Dogs", "Linux", "5.4", "game -fast"}) {
        facts.important_aux(field++, narrow(fact));
    }
    stream.important(20, facts.important_end());
    const std::size_t needed = stream.bytes().size();
    const Out payload = narrow(std::string(4000, 'x'));
    for (int i = 0; i < 2000; ++i) {
        stream.important(999, payload);
    }
    const std::string large = write("large.utrace", stream);
    ASSERT_GT(stream.bytes().size(), 100 * (needed + 65'536) / 2);
    EXPECT_EQ(run(built::kSessionBrowser, large),
              large + ": Game Dogs on Linux, build 5.4: game -fast (65536 bytes read)\n");
    EXPECT_EQ(code_, 0);
    EXPECT_EQ(run(built::kSessionBrowser, without), without + ": says nothing of its session\n");
    EXPECT_EQ(code_, 1);
}

}  // namespace
}  // namespace sample
