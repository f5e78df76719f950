// What a file is taken for, and what is asked rather than guessed.
#include "import/import.h"
#include "import_fixture.h"

#include <zlib.h>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sample::imports {
namespace {

Format detected(std::string_view bytes) {
    const Result<Format> format = detect_format(bytes);
    EXPECT_TRUE(format.has_value()) << format.error().message();
    return format ? *format : Format::pprof;
}

std::string gzip(std::string_view text) {
    z_stream stream{};
    EXPECT_EQ(
        ::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
    std::string packed(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(stream.total_out);
    ::deflateEnd(&stream);
    return packed;
}

TEST(Detect, goes_by_content) {
    EXPECT_EQ(detected(R"( {"Version":2})"), Format::json);
    EXPECT_EQ(detected("\xef\xbb\xbf{\"Version\":1}"), Format::json);
    EXPECT_EQ(detected(R"({"shared":{"frames":[]},"profiles":[]})"), Format::speedscope);
    EXPECT_EQ(detected(R"({"$schema":"https://www.speedscope.app/file-format-schema.json"})"),
              Format::speedscope);
    EXPECT_EQ(detected("a;b 1\r\nc 2\n"), Format::folded);
    EXPECT_EQ(detected("12 a.lua,f,3;b,,\n"), Format::luau);
    EXPECT_EQ(detected("# ========\n\n  a b  7 [001] 1.5: 10 cycles: \n\tff f (x)\n"),
              Format::perf_script);
    EXPECT_EQ(detected("main 7/8 10 cycles: \n\tff f (x)\n"), Format::perf_script);
}

TEST(Detect, takes_lines_that_begin_with_brackets_for_no_json) {
    EXPECT_EQ(detected("[main tid=12];f 3\n"), Format::folded);
    EXPECT_EQ(detected("[1234];f 3\n"), Format::folded);
    EXPECT_EQ(detected("[[kernel]];f 3\n"), Format::folded);
    EXPECT_EQ(detected("{closure#0};f 3\n"), Format::folded);
    EXPECT_EQ(detected("[000] \n\t            1166 f\n"), Format::perf_script);
}

TEST(Detect, asks_where_content_does_not_tell) {
    expect_refusal("alpha 1\nbeta 2\n", {}, "say --from folded");
    expect_refusal("hello\n", {}, "--from FORMAT says what is wrong with it; formats: json, speed");
    expect_refusal("main 7 \n\tff f (x)\n", {}, "neither JSON nor what perf script prints");
}

TEST(Detect, names_what_it_does_not_read) {
    expect_refusal(R"({"meta":{},"threads":[]})", {}, "Firefox Profiler, which is not read");
    expect_refusal(R"({"traceEvents":[]})", {}, "a trace for Chrome, which is not read");
    expect_refusal(R"([{"ph":"B"}])", {}, "a trace for Chrome");
    expect_refusal("[\n{\"ph\":\"B\"", {}, "a trace for Chrome");
    expect_refusal(R"({"a":1})", {}, "JSON, but neither of the script profiler");
    expect_refusal(R"({"a":)", {}, "malformed JSON at byte");
    expect_refusal("PERFILE2", {}, "a recording of perf, which is not read");
    expect_refusal(std::string_view{"\x7f"
                                    "ELF\0\1",
                                    6},
                   {}, "neither text nor a profile of pprof");
    expect_refusal(std::string_view{"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27", 26},
                   {}, "a CPU profile of gperftools, which is not read");
    expect_refusal("\xff\xfe{", {}, "UTF-16");
    expect_refusal(gzip(gzip("a;b 3\n")), {}, "gzip inside of gzip, which is not read");
    expect_refusal(" \n", {}, "empty");
    expect_refusal("", {}, "empty");
}

TEST(Detect, takes_folded_stacks_with_wrong_counts_for_folded_stacks) {
    for (const std::string count : {"1.5", "-1", "18446744073709551616"}) {
        expect_refusal("a;b 1\na;b " + count + "\n", {},
                       "folded: line 2: must end with a space and a count");
    }
    expect_refusal("a;b -\n", {}, "text, but neither JSON nor");
}

TEST(Detect, takes_no_count_or_name_of_a_folded_stack_for_an_address) {
    EXPECT_EQ(detected("main;work 1234567890123456\n"), Format::folded);
    EXPECT_EQ(detected("main 1234567890123456\nmain;work 3\n"), Format::folded);
    EXPECT_EQ(detected("main;f deadbeefdeadbeef 12\n"), Format::folded);
    EXPECT_EQ(detected("            main ffffffff81000000 work\n"), Format::perf_script);
    EXPECT_EQ(detected("            main     7f0012345678 Lcom/Work;::run\n"), Format::perf_script);
}

TEST(Detect, does_not_recurse_into_json) {
    expect_refusal(R"({"x":)" + std::string(1'000'000, '['), {}, "malformed JSON");
}

TEST(Gzip, is_unpacked_whatever_is_inside) {
    EXPECT_EQ(totals(imported(gzip("a;b 3\n"))), (Totals{{"a", {3, 0}}, {"b", {3, 3}}}));
    EXPECT_EQ(totals(imported(gzip("a;b 3\n") + gzip("a 4\n"))),
              (Totals{{"a", {7, 4}}, {"b", {3, 3}}}));
}

TEST(Gzip, is_refused_with_the_byte) {
    const std::string packed = gzip("a;b 3\na;c 5\na;d 7\n");
    for (std::size_t size = 2; size < packed.size(); ++size) {
        expect_refusal(packed.substr(0, size), {}, "gzip, byte " + std::to_string(size));
    }
    std::string damaged = packed;
    damaged[damaged.size() - 5] ^= 1;
    expect_refusal(damaged, {}, "gzip, byte ");
}

TEST(Gzip, is_not_unpacked_beyond_its_bound) {
    const std::string bomb = gzip(std::string(5'000'000, 'a'));
    Options options;
    options.max_unpacked_bytes = 1'000'000;
    const auto result = import_profile(bomb, {}, options);
    ASSERT_FALSE(result.has_value());
    EXPECT_NE(result.error().message().find("unpacks to more than 1000000 bytes"),
              std::string::npos)
        << result.error().message();
}

}  // namespace
}  // namespace sample::imports
