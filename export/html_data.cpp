#include "export/html_data.h"

#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "core/varint.h"
#include "export/code_kind.h"
#include "export/gzip_sink.h"
#include "export/html_header.h"
#include "export/source_file.h"
#include "export/utf8.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

/// Base64 in lines, so that a reader may decode them one by one. Source: RFC 4648, section 4.
class Base64 {
public:
    explicit Base64(Writer& out) : out_{out} { line_.reserve(kLineCharacters + 1); }

    void write(std::string_view bytes) {
        for (const char byte : bytes) {
            group_ = (group_ << 8) | static_cast<unsigned char>(byte);
            if (++in_group_ == kGroupBytes) {
                put_group();
            }
        }
    }

    void finish() {
        const std::size_t missing = in_group_ == 0 ? 0 : kGroupBytes - in_group_;
        if (missing != 0) {
            group_ <<= 8 * missing;
            put_group();
            line_.replace(line_.size() - missing, missing, missing, '=');
        }
        out_.text(line_);
        line_.clear();
    }

private:
    static constexpr std::size_t kGroupBytes = 3;
    static constexpr std::size_t kLineCharacters = 16'384;  // a multiple of 4
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    void put_group() {
        if (line_.size() == kLineCharacters) {
            line_ += '\n';
            out_.text(line_);
            line_.clear();
        }
        for (const int shift : {18, 12, 6, 0}) {
            line_ += kDigits[(group_ >> shift) & 0x3fU];
        }
        group_ = 0;
        in_group_ = 0;
    }

    Writer& out_;
    std::string line_;
    std::uint32_t group_ = 0;
    std::size_t in_group_ = 0;
};

/// Varints and texts, compressed.
class DataStream {
public:
    explicit DataStream(Writer& out)
        : base64_{out},
          sink_{[this, &out](std::string_view bytes) {
              base64_.write(bytes);
              // A failure is kept by the writer, and ends this, too.
              return out.is_good() ? Result<void>{} : unexpected(ErrorCode::system, "");
          }},
          gzip_{sink_} {}

    void number(std::uint64_t value) {
        if (used_ + kMaxVarintBytes > buffer_.size()) {
            flush();
        }
        used_ += write_varint(buffer_.data() + used_, value);
    }

    void text(std::string_view bytes) {
        const std::string valid = to_utf8(bytes);
        number(valid.size());
        flush();
        gzip_.write(valid);
    }

    [[nodiscard]] bool is_good() const { return gzip_.is_good(); }

    Result<void> finish() {
        flush();
        Result<void> result = gzip_.finish();
        base64_.finish();
        return result;
    }

private:
    static constexpr std::size_t kBufferBytes = std::size_t{32} * 1024;

    void flush() {
        gzip_.write({reinterpret_cast<const char*>(buffer_.data()), used_});
        used_ = 0;
    }

    Base64 base64_;
    Sink sink_;
    GzipSink gzip_;
    std::array<std::uint8_t, kBufferBytes> buffer_{};
    std::size_t used_ = 0;
};

template <class ValueOf>
void function_column(DataStream& out, const Profile& profile, const ValueOf& value_of) {
    for (const Function& function : profile.functions) {
        out.number(value_of(function));
    }
}

/// Each source once, numbered from 1 in the order of the functions that have one.
class Sources {
public:
    explicit Sources(const Profile& profile) {
        for (const Function& function : profile.functions) {
            const std::string_view source = source_file(profile, function);
            if (source.empty()) {
                of_function_.push_back(0);
                continue;
            }
            const auto [found, is_new] =
                numbers_.try_emplace(source, static_cast<std::uint32_t>(texts_.size() + 1));
            if (is_new) {
                texts_.push_back(source);
            }
            of_function_.push_back(found->second);
        }
    }

    [[nodiscard]] const std::vector<std::string_view>& texts() const { return texts_; }
    [[nodiscard]] const std::vector<std::uint32_t>& of_function() const { return of_function_; }

private:
    std::unordered_map<std::string_view, std::uint32_t> numbers_;
    std::vector<std::string_view> texts_;
    std::vector<std::uint32_t> of_function_;
};

void write_functions(DataStream& out, const Profile& profile, const Sources& sources) {
    for (const std::string_view source : sources.texts()) {
        out.text(source);
    }
    for (const Function& function : profile.functions) {
        out.text(callgraph::label(function));
    }
    for (const std::uint32_t source : sources.of_function()) {
        out.number(source);
    }
    function_column(out, profile, [](const Function& function) { return function.line; });
    function_column(out, profile, [](const Function& function) { return function.module; });
    for (std::uint32_t id = 1; id <= profile.functions.size(); ++id) {
        out.number(static_cast<std::uint64_t>(kind_of(profile, FunctionId{id})));
    }
    function_column(out, profile, [](const Function& function) { return function.total_ns; });
    function_column(out, profile, [](const Function& function) { return function.self_ns; });
    function_column(out, profile, [](const Function& function) { return function.samples; });
    function_column(out, profile, [](const Function& function) { return function.self_samples; });
}

template <class ValueOf>
void node_column(DataStream& out, const Profile& profile, const std::vector<NodeId>& order,
                 const ValueOf& value_of) {
    for (const NodeId id : order) {
        out.number(value_of(profile.node(id)));
    }
}

/// How many levels up from the node before, in preorder, each node's parent is.
void write_structure(DataStream& out, const Profile& profile, const std::vector<NodeId>& order) {
    NodeId before;
    for (const NodeId id : order) {
        std::uint64_t up = 0;
        for (; before != profile.node(id).parent; before = profile.node(before).parent) {
            ++up;
        }
        out.number(up);
        before = id;
    }
}

void write_nodes(DataStream& out, const Profile& profile, const std::vector<NodeId>& order) {
    write_structure(out, profile, order);
    node_column(out, profile, order, [](const Node& node) { return node.function.value; });
    node_column(out, profile, order, [](const Node& node) { return node.self_ns; });
    node_column(out, profile, order, [](const Node& node) { return node.self_samples; });
    node_column(out, profile, order, [](const Node& node) { return node.line; });
    node_column(out, profile, order, [](const Node& node) { return node.call_line; });
    node_column(out, profile, order,
                [](const Node& node) { return static_cast<std::uint64_t>(node.inlining); });
}

}  // namespace

Result<void> write_html_data(const Profile& profile, Writer& out) {
    const std::vector<NodeId> order = callgraph::preorder(profile);
    const Sources sources{profile};
    DataStream data{out};
    data.text(html_header(profile, order, sources.texts().size()));
    write_functions(data, profile, sources);
    write_nodes(data, profile, order);
    return data.finish();
}

}  // namespace sample::exports
