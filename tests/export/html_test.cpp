#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "core/varint.h"
#include "export/formats.h"
#include "tests/export/timed_profile.h"

#include <zlib.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Profile;

std::string exported_page(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_html(profile, to_string_sink(text)).has_value());
    return text;
}

constexpr std::string_view kBlockBegin = R"(<script id="data" type="text/plain">)";

std::string_view block_of(std::string_view page) {
    const std::size_t begin = page.find(kBlockBegin) + kBlockBegin.size();
    return page.substr(begin, page.find("</script>", begin) - begin);
}

/// Lines of base64. Source: RFC 4648.
std::string decoded(std::string_view text) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char character : text) {
        const std::size_t digit = kDigits.find(character);
        if (digit == std::string_view::npos) {
            EXPECT_TRUE(character == '\n' || character == '=') << character;
            continue;
        }
        bits = (bits << 6) | static_cast<std::uint32_t>(digit);
        if ((count += 6) >= 8) {
            count -= 8;
            bytes += static_cast<char>(bits >> count);
        }
    }
    return bytes;
}

std::string gunzipped(std::string bytes) {
    constexpr int kGzipWindow = 15 + 16;
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, kGzipWindow), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string text;
    int result = Z_OK;
    while (result == Z_OK) {
        std::array<char, 4096> piece{};
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = piece.size();
        result = inflate(&stream, Z_NO_FLUSH);
        text.append(piece.data(), piece.size() - stream.avail_out);
    }
    EXPECT_EQ(result, Z_STREAM_END);
    EXPECT_EQ(stream.avail_in, 0) << "bytes behind the stream";
    inflateEnd(&stream);
    return text;
}

/// What the page's own reader sees.
struct Block {  // NOLINT(bugprone-exception-escape): as nlohmann::json's own
    nlohmann::json header;
    std::vector<std::string> sources;
    std::vector<std::string> names;
    std::vector<std::string> short_names;
    std::vector<std::vector<std::uint64_t>> functions;  ///< Columns.
    std::vector<std::vector<std::uint64_t>> nodes;
    bool ends_here = false;
};

class BlockReader {
public:
    explicit BlockReader(std::string_view page) : bytes_{gunzipped(decoded(block_of(page)))} {}

    Block read() {
        Block block;
        block.header = nlohmann::json::parse(text());
        texts(block.sources, block.header["sources"]);
        texts(block.names, block.header["functions"]);
        texts(block.short_names, block.header["functions"]);
        constexpr int kFunctionColumns = 8;
        constexpr int kNodeColumns = 7;
        columns(block.functions, kFunctionColumns, block.header["functions"]);
        columns(block.nodes, kNodeColumns, block.header["nodes"]);
        block.ends_here = at_ == bytes_.size();
        return block;
    }

private:
    std::uint64_t number() {
        std::uint64_t value = 0;
        const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes_.data());
        at_ += read_varint(begin + at_, begin + bytes_.size(), value);
        return value;
    }
    std::string text() {
        const std::size_t length = number();
        at_ += length;
        return bytes_.substr(at_ - length, length);
    }
    void texts(std::vector<std::string>& into, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            into.push_back(text());
        }
    }
    void columns(std::vector<std::vector<std::uint64_t>>& into, int count, std::size_t rows) {
        for (int i = 0; i < count; ++i) {
            std::vector<std::uint64_t>& column = into.emplace_back(rows);
            for (std::uint64_t& value : column) {
                value = number();
            }
        }
    }

    std::string bytes_;
    std::size_t at_ = 0;
};

TEST(Html, has_every_function_and_node_with_its_figures) {
    const Profile profile = timed_profile();
    const Block block = BlockReader{exported_page(profile)}.read();
    EXPECT_TRUE(block.ends_here);
    ASSERT_EQ(block.names.size(), profile.functions.size());
    for (std::size_t i = 0; i < block.names.size(); ++i) {
        const callgraph::Function& function = profile.functions[i];
        EXPECT_EQ(block.names[i], callgraph::label(function));
        EXPECT_EQ(block.functions[4][i], function.total);
        EXPECT_EQ(block.functions[5][i], function.self);
        EXPECT_EQ(block.functions[6][i], function.samples);
        EXPECT_EQ(block.functions[7][i], function.self_samples);
    }
    const std::vector<NodeId> order = callgraph::preorder(profile);
    ASSERT_EQ(block.nodes[0].size(), order.size());
    std::vector<std::size_t> path{0};
    for (std::size_t i = 1; i < order.size(); ++i) {
        const callgraph::Node& node = profile.node(order[i]);
        path.resize(path.size() - block.nodes[0][i]);
        EXPECT_EQ(order[path.back()], node.parent) << i;
        path.push_back(i);
        EXPECT_EQ(block.nodes[1][i], node.function.value);
        EXPECT_EQ(block.nodes[2][i], node.self);
        EXPECT_EQ(block.nodes[4][i], node.line);
        EXPECT_EQ(block.nodes[5][i], node.call_line);
        EXPECT_EQ(block.nodes[6][i], static_cast<std::uint64_t>(node.inlining));
    }
}

TEST(Html, has_a_short_name_only_where_it_is_another) {
    Profile profile = timed_profile();
    ASSERT_GE(profile.functions.size(), 3U);
    profile.functions[0].name = "std::vector<int>::at(unsigned long)";
    profile.functions[1].name = "main";
    profile.functions[2].name = "js<int>(x)";
    profile.functions[2].flags = callgraph::kNative;
    const Block block = BlockReader{exported_page(profile)}.read();
    EXPECT_EQ(block.names[0], profile.functions[0].name);
    EXPECT_EQ(block.short_names[0], "std::vector\u2039\u2026\u203a::at");
    EXPECT_EQ(block.short_names[1], "");
    EXPECT_EQ(block.short_names[2], "");
}

TEST(Html, names_sources_but_not_modules_as_files) {
    const Block block = BlockReader{exported_page(timed_profile())}.read();
    EXPECT_EQ(block.sources, std::vector<std::string>{"/src/run.cpp"});
    EXPECT_EQ(block.functions[0][0], 1) << "run()";
    EXPECT_EQ(block.functions[0][3], 0) << "malloc, of which only the module is known";
}

TEST(Html, has_nothing_of_the_profile_but_in_base64) {
    const std::string page = exported_page(timed_profile());
    Profile nothing;
    nothing.nodes.resize(1);
    const std::string empty = exported_page(nothing);
    const auto around = [](const std::string& text) {
        const std::string_view block = block_of(text);
        return std::string{text}.erase(static_cast<std::size_t>(block.data() - text.data()),
                                       block.size());
    };
    EXPECT_EQ(around(page), around(empty));
    EXPECT_EQ(block_of(page).find_first_not_of(
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n"),
              std::string_view::npos);
}

TEST(Html, may_ask_no_network_for_anything) {
    const std::string page = exported_page(timed_profile());
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    for (const char* word : {"://", "src=", "href=", "@import", "url("}) {
        EXPECT_EQ(page.find(word), std::string::npos) << word;
    }
    EXPECT_EQ(page.find("@STYLE@"), std::string::npos);
    EXPECT_EQ(page.find("@SCRIPT@"), std::string::npos);
}

TEST(Html, tells_the_truth_of_the_recording) {
    Profile profile = timed_profile();
    profile.scale = 13.67021402;
    profile.stats.whole = false;
    const nlohmann::json header = BlockReader{exported_page(profile)}.read().header;
    std::string marks;
    for (const nlohmann::json& mark : header["truth"]) {
        marks += mark["text"].get<std::string>() + (mark["isWarning"] ? "!" : "") + "\n";
    }
    EXPECT_NE(marks.find("\u00d713.6702 scaled!\n"), std::string::npos) << marks;
    EXPECT_NE(marks.find("3 samples lost!\n"), std::string::npos) << marks;
    EXPECT_NE(marks.find("0 stacks truncated\n"), std::string::npos) << marks;
    EXPECT_NE(marks.find("its end is missing!\n"), std::string::npos) << marks;
    EXPECT_NE(marks.find("one library has no unwind tables\n"), std::string::npos) << marks;
    EXPECT_EQ(header["what"], "CPU time \u00d713.6702");
    EXPECT_EQ(header["command"], "app --fast \"</script>\"");
}

TEST(Html, counts_an_event) {
    Profile profile = timed_profile();
    profile.event = profile.metric.unit = "page-faults";
    const nlohmann::json header = BlockReader{exported_page(profile)}.read().header;
    EXPECT_EQ(header["isTime"], false);
    EXPECT_EQ(header["unit"], "page-faults");
    EXPECT_EQ(header["explanation"].get<std::string>().find("CPU time"), std::string::npos);
}

TEST(Html, replaces_bytes_that_are_not_utf_8) {
    Profile profile = timed_profile();
    profile.functions[0].name = "a\xff";
    profile.command_line = "b\xff";
    const Block block = BlockReader{exported_page(profile)}.read();
    EXPECT_EQ(block.names[0], "a\ufffd");
    EXPECT_EQ(block.header["command"], "b\ufffd");
}

TEST(Html, writes_long_data_in_lines) {
    Profile profile = timed_profile();
    std::uint64_t random = 1;
    for (int i = 0; i < 5000; ++i) {
        callgraph::Function& function = profile.functions.emplace_back();
        for (int digit = 0; digit < 16; ++digit) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            function.name += static_cast<char>('A' + (random >> 59));
        }
    }
    const std::string page = exported_page(profile);
    const std::string_view block = block_of(page);
    ASSERT_GT(block.size(), 50'000);
    EXPECT_EQ(block.find('\n', 1), 16'385);
    EXPECT_EQ(BlockReader{page}.read().names.back(), profile.functions.back().name);
}

TEST(Html, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    const Result<void> written = write_html(timed_profile(), full);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().context, "full");
}

}  // namespace
}  // namespace sample::exports
