// The data block of the HTML page, which export/html/profile.js reads: base64 of gzip of
//
//     header          a text: JSON, export/html/header.cpp
//     texts           the sources, the functions' names, then their short names, each empty if it
//     is
//                     the name
//     functions       columns: source (1-based, 0: none), line, module, kind, total, self, samples,
//                     self samples
//     nodes           in preorder, columns: up, function (1-based, 0: none), self, self samples,
//                     line, line of the call, inlining
//
// A text is its length in bytes and UTF-8; every number is a varint. `up` says how many levels the
// node's parent is above the node before, which for a first child is none: with the order this is
// the whole tree. Totals follow from the selves.
#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "core/text.h"
#include "core/varint.h"
#include "export/formats.h"
#include "export/html/page.h"
#include "export/shared/functions.h"
#include "export/shared/gzip_sink.h"
#include "symbolize/names/name_forms.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

/// Base64 in lines, so that a reader may decode them one by one. Source: RFC 4648, section 4.
class Base64 {
public:
    explicit Base64(Writer& out) : out_{out} {}

    void write(std::string_view bytes) {
        for (; bytes.size() > kLineBytes - line_.size(); put_line()) {
            const std::size_t room = kLineBytes - line_.size();
            line_ += bytes.substr(0, room);
            bytes.remove_prefix(room);
        }
        line_ += bytes;
    }

    void finish() { put_line(); }

private:
    static constexpr std::size_t kGroupBytes = 3;
    static constexpr std::size_t kLineBytes = kGroupBytes * 4096;

    void put_line() {
        constexpr std::string_view kDigits =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const std::size_t missing = (kGroupBytes - line_.size() % kGroupBytes) % kGroupBytes;
        line_.append(missing, '\0');
        std::string digits{is_first_ ? "" : "\n"};
        for (std::size_t at = 0; at < line_.size(); at += kGroupBytes) {
            std::uint32_t group = 0;
            for (const char byte : std::string_view{line_}.substr(at, kGroupBytes)) {
                group = (group << 8) | static_cast<unsigned char>(byte);
            }
            for (const int shift : {18, 12, 6, 0}) {
                digits += kDigits[(group >> shift) & 0x3fU];
            }
        }
        out_.put(digits.replace(digits.size() - missing, missing, missing, '='));
        line_.clear();
        is_first_ = false;
    }

    Writer& out_;
    std::string line_;  ///< Its bytes so far.
    bool is_first_ = true;
};

/// Writes columns of varints, and texts.
class Columns {
public:
    explicit Columns(Writer& out) : out_{out} {}

    void number(std::uint64_t value) {
        std::array<char, kMaxVarintBytes> bytes;  // NOLINT(*-member-init): written below
        const std::size_t size = write_varint(bytes.data(), value);
        out_.put(std::string_view{bytes.data(), size});
    }

    void text(std::string_view bytes) {
        const std::string valid = to_utf8(bytes);
        number(valid.size());
        out_.put(valid);
    }

    void functions(const Profile& profile, const auto& value_of) {
        for (const Function& function : profile.functions) {
            number(value_of(function));
        }
    }

    void nodes(const Profile& profile, const std::vector<NodeId>& order, const auto& value_of) {
        for (const NodeId id : order) {
            number(value_of(profile.node(id)));
        }
    }

private:
    Writer& out_;
};

/// The sources that functions have, in the order of the functions.
std::vector<std::string_view> sources_of(const Profile& profile) {
    std::vector<std::string_view> sources;
    std::unordered_set<std::string_view> known{std::string_view{}};
    for (const Function& function : profile.functions) {
        const std::string_view source = source_file(profile, function);
        if (known.insert(source).second) {
            sources.push_back(source);
        }
    }
    return sources;
}

/// What bars and the table call it; empty: its label.
std::string short_name(const Function& function) {
    if (callgraph::is_named_by_a_runtime(function)) {
        return {};
    }
    std::string name = symbolize::in_form(function.name, symbolize::NameForm::brief);
    return name == function.name ? std::string{} : name;
}

void write_functions(Columns& out, const Profile& profile,
                     const std::vector<std::string_view>& sources) {
    std::unordered_map<std::string_view, std::uint64_t> numbers;  // 0: not known
    for (const std::string_view source : sources) {
        numbers.emplace(source, numbers.size() + 1);
        out.text(source);
    }
    for (const Function& function : profile.functions) {
        out.text(callgraph::label(function));
    }
    for (const Function& function : profile.functions) {
        out.text(short_name(function));
    }
    out.functions(
        profile, [&](const Function& function) { return numbers[source_file(profile, function)]; });
    out.functions(profile, [](const Function& function) { return function.line; });
    out.functions(profile, [](const Function& function) { return function.module; });
    for (std::uint32_t id = 1; id <= profile.functions.size(); ++id) {
        out.number(static_cast<std::uint64_t>(kind_of(profile, FunctionId{id})));
    }
    out.functions(profile, [](const Function& function) { return function.total; });
    out.functions(profile, [](const Function& function) { return function.self; });
    out.functions(profile, [](const Function& function) { return function.samples; });
    out.functions(profile, [](const Function& function) { return function.self_samples; });
}

void write_nodes(Columns& out, const Profile& profile, const std::vector<NodeId>& order) {
    // How many levels up from the node before each node's parent is.
    NodeId before;
    for (const NodeId id : order) {
        std::uint64_t up = 0;
        for (; before != profile.node(id).parent; before = profile.node(before).parent) {
            ++up;
        }
        out.number(up);
        before = id;
    }
    out.nodes(profile, order, [](const Node& node) { return node.function.value; });
    out.nodes(profile, order, [](const Node& node) { return node.self; });
    out.nodes(profile, order, [](const Node& node) { return node.self_samples; });
    out.nodes(profile, order, [](const Node& node) { return node.line; });
    out.nodes(profile, order, [](const Node& node) { return node.call_line; });
    out.nodes(profile, order,
              [](const Node& node) { return static_cast<std::uint64_t>(node.inlining); });
}

/// Writes the data block. An error of zlib; that of the sink stays with `page`.
Result<void> write_data(const Profile& profile, Writer& page) {
    Base64 base64{page};
    const Sink to_base64 = [&](std::string_view bytes) -> Result<void> {
        base64.write(bytes);
        // A failure is kept by the writer, and ends this, too.
        return page.is_good() ? Result<void>{} : unexpected(ErrorCode::system, "");
    };
    GzipSink gzip{to_base64};
    const Sink to_gzip = [&](std::string_view bytes) -> Result<void> {
        gzip.write(bytes);
        return gzip.is_good() ? Result<void>{} : unexpected(ErrorCode::system, "");
    };
    Writer data{to_gzip};
    Columns columns{data};
    const std::vector<NodeId> order = callgraph::preorder(profile);
    const std::vector<std::string_view> sources = sources_of(profile);
    columns.text(html::header(profile, order, sources.size()));
    write_functions(columns, profile, sources);
    write_nodes(columns, profile, order);
    static_cast<void>(data.finish());  // A failure is kept by `gzip`.
    Result<void> result = gzip.finish();
    base64.finish();
    return result;
}

}  // namespace

Result<void> write_html(const Profile& profile, const Sink& sink) {
    constexpr std::string_view kPlaceOfData = "@DATA@";
    const std::string_view page = html::page();
    const std::size_t at = page.find(kPlaceOfData);
    Writer out{sink};
    out.put(page.substr(0, at));
    Result<void> data = write_data(profile, out);
    out.put(page.substr(at + kPlaceOfData.size()));
    Result<void> written = out.finish();
    return written ? data : written;
}

}  // namespace sample::exports
