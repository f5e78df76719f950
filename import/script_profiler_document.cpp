#include "import/script_profiler_document.h"

#include "import/json_kind.h"
#include "import/script_profiler_fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sample::imports {

namespace {

constexpr std::uint64_t kVersion = 2;
constexpr std::size_t kMaxNesting = 64;

/// Receives nlohmann-json's events. Returning false stops the parser; error() says why.
class Handler {
public:
    bool null() { return scalar("null"); }
    bool boolean(bool /*value*/) { return scalar("true or false"); }
    bool number_integer(std::int64_t /*value*/) { return scalar("a negative number"); }
    bool number_unsigned(std::uint64_t value);
    bool number_float(double value, const std::string& /*text*/);
    bool string(std::string& value);
    bool binary(nlohmann::json::binary_t& /*value*/) { return scalar("binary data"); }
    bool start_object(std::size_t /*size*/);
    bool key(std::string& key);
    bool end_object();
    bool start_array(std::size_t /*size*/);
    bool end_array();
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& exception);

    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] ScriptProfilerDocument take() { return std::move(document_); }

private:
    [[nodiscard]] In in() const { return inside_.back(); }
    [[nodiscard]] bool is_field_of_object() const {
        return in() == In::root || in() == In::category || in() == In::node || in() == In::function;
    }
    /// True for a value of, or inside, a field that this reader does not know.
    [[nodiscard]] bool is_skipped() const {
        return in() == In::unknown || (is_field_of_object() && rule_.field == Field::unknown);
    }
    /// "node 4: ", or "" outside of the arrays.
    [[nodiscard]] std::string place() const;
    bool fail(ErrorCode code, const std::string& what);
    bool fail(const std::string& what) { return fail(ErrorCode::corrupt, what); }
    /// Fails, for a value that is not what is expected here; `found` says what it is.
    bool wrong(std::string_view found);
    /// A value without parts: fine only in an unknown field.
    bool scalar(std::string_view found);
    bool enter(In what);
    bool set(std::uint64_t value);
    /// What the current field's text belongs into; nullptr if it is none of text.
    std::string* text_field();
    bool check_complete();

    ScriptProfilerDocument document_;
    std::vector<In> inside_{In::document};
    FieldRule rule_{In::root, "", Type::integer, Field::unknown, false};
    std::uint32_t seen_in_root_ = 0;
    std::uint32_t seen_ = 0;  ///< Of the current category, node or function.
    Error error_;
};

std::string Handler::place() const {
    for (auto each = inside_.rbegin(); each != inside_.rend(); ++each) {
        switch (*each) {
            case In::category:
                return "category " + std::to_string(document_.categories.size()) + ": ";
            case In::node:
                return "node " + std::to_string(document_.nodes.size()) + ": ";
            case In::function:
                return "function " + std::to_string(document_.functions.size()) + ": ";
            default:
                break;
        }
    }
    return "";
}

bool Handler::fail(ErrorCode code, const std::string& what) {
    if (error_.context.empty()) {
        error_ = Error{code, 0, place() + what};
    }
    return false;
}

bool Handler::wrong(std::string_view found) {
    const std::string suffix = std::string{", not "}.append(found);
    switch (in()) {
        case In::document:
            return fail("the document must be an object" + suffix);
        case In::categories:
            return fail("Categories must hold objects" + suffix);
        case In::nodes:
            return fail("Nodes must hold objects" + suffix);
        case In::functions:
            return fail("Functions must hold objects" + suffix);
        case In::function_ids:
            return fail("FunctionIds must hold ids" + suffix);
        case In::node_ids:
            return fail("NodeIds must hold ids" + suffix);
        default:
            return fail(std::string{rule_.key}.append(" must be ").append(describe(rule_.type)) +
                        suffix);
    }
}

bool Handler::scalar(std::string_view found) {
    return is_skipped() || wrong(found);
}

bool Handler::enter(In what) {
    if (inside_.size() >= kMaxNesting) {
        return fail("nested too deeply for this format");
    }
    inside_.push_back(what);
    return true;
}

bool Handler::number_unsigned(std::uint64_t value) {
    switch (in()) {
        case In::function_ids:
            document_.nodes.back().functions.push_back(value);
            return true;
        case In::node_ids:
            document_.nodes.back().nodes.push_back(value);
            return true;
        default:
            break;
    }
    if (is_skipped() || !is_field_of_object()) {
        return scalar("a number");
    }
    return rule_.field == Field::scale ? number_float(static_cast<double>(value), "") : set(value);
}

bool Handler::set(std::uint64_t value) {
    switch (rule_.field) {
        case Field::version:
            return value == kVersion ||
                   fail(ErrorCode::unsupported, "version " + std::to_string(value) +
                                                    " of the format is not supported: export "
                                                    "version 2");
        case Field::start:
            document_.start_unix_ms = value;
            return true;
        case Field::end:
            document_.end_unix_ms = value;
            return true;
        case Field::gc:
            document_.gc_function = value;
            return value != 0 || fail("GCFuncId must be the id of a function, not 0");
        case Field::category_node:
            document_.categories.back().node = value;
            return true;
        case Field::node_total:
            document_.nodes.back().total = value;
            return true;
        case Field::node_samples:
            document_.nodes.back().samples = value;
            return true;
        case Field::node_inlined:
            document_.nodes.back().inlined = value;
            return true;
        case Field::node_call_line:
            document_.nodes.back().call_line = value;
            return true;
        case Field::function_total:
            document_.functions.back().total = value;
            return true;
        case Field::function_samples:
            document_.functions.back().samples = value;
            return true;
        case Field::line:
            document_.functions.back().line = value;
            return true;
        case Field::flags:
            document_.functions.back().flags = value;
            return true;
        default:
            return scalar("a number");
    }
}

bool Handler::number_float(double value, const std::string& /*text*/) {
    if (in() != In::root || rule_.field != Field::scale) {
        return scalar("a fraction or a number of more than 64 bits");
    }
    document_.scale = value;
    return (std::isfinite(value) && value > 0) || fail("Scale must be greater than 0");
}

bool Handler::string(std::string& value) {
    std::string* field = is_field_of_object() ? text_field() : nullptr;
    if (field == nullptr) {
        return scalar("a string");
    }
    *field = std::move(value);
    return true;
}

std::string* Handler::text_field() {
    switch (rule_.field) {
        case Field::event:
            return &document_.event;
        case Field::unit:
            return &document_.unit;
        case Field::category_name:
            return &document_.categories.back().name;
        case Field::name:
            return &document_.functions.back().name;
        case Field::source:
            return &document_.functions.back().source;
        default:
            return nullptr;
    }
}

bool Handler::start_object(std::size_t /*size*/) {
    switch (in()) {
        case In::document:
            return enter(In::root);
        case In::categories:
            document_.categories.emplace_back();
            seen_ = 0;
            return enter(In::category);
        case In::nodes:
            document_.nodes.emplace_back();
            seen_ = 0;
            return enter(In::node);
        case In::functions:
            document_.functions.emplace_back();
            seen_ = 0;
            return enter(In::function);
        default:
            return is_skipped() ? enter(In::unknown) : wrong("an object");
    }
}

bool Handler::key(std::string& key) {
    if (in() == In::unknown) {
        return true;
    }
    const auto* rule = std::find_if(kFields.begin(), kFields.end(), [&](const FieldRule& each) {
        return each.in == in() && each.key == key;
    });
    if (rule == kFields.end()) {
        rule_ = FieldRule{in(), "", Type::integer, Field::unknown, false};
        return true;
    }
    rule_ = *rule;
    std::uint32_t& seen = in() == In::root ? seen_in_root_ : seen_;
    if ((seen & bit(rule_.field)) != 0) {
        return fail(std::string{rule_.key} + " appears twice");
    }
    seen |= bit(rule_.field);
    return true;
}

bool Handler::end_object() {
    if (!check_complete()) {
        return false;
    }
    inside_.pop_back();
    return true;
}

bool Handler::check_complete() {
    const std::uint32_t seen = in() == In::root ? seen_in_root_ : seen_;
    for (const FieldRule& rule : kFields) {
        if (rule.in == in() && rule.required && (seen & bit(rule.field)) == 0) {
            return fail(std::string{rule.key} + " is missing");
        }
    }
    if (in() != In::node) {
        return true;
    }
    if (((seen & bit(Field::function_ids)) == 0) != ((seen & bit(Field::node_ids)) == 0)) {
        return fail("FunctionIds and NodeIds must be there both or neither");
    }
    const NodeEntry& node = document_.nodes.back();
    if (node.functions.size() != node.nodes.size()) {
        return fail("FunctionIds has " + std::to_string(node.functions.size()) +
                    " entries and NodeIds " + std::to_string(node.nodes.size()));
    }
    return true;
}

bool Handler::start_array(std::size_t /*size*/) {
    if (is_skipped()) {
        return enter(In::unknown);
    }
    switch (is_field_of_object() ? rule_.field : Field::unknown) {
        case Field::categories:
            return enter(In::categories);
        case Field::nodes:
            return enter(In::nodes);
        case Field::functions:
            return enter(In::functions);
        case Field::function_ids:
            return enter(In::function_ids);
        case Field::node_ids:
            return enter(In::node_ids);
        default:
            return wrong("an array");
    }
}

bool Handler::end_array() {
    inside_.pop_back();
    return true;
}

bool Handler::parse_error(std::size_t position, const std::string& /*token*/,
                          const nlohmann::detail::exception& exception) {
    return fail(malformed_json(position, exception.what()).error.context);
}

}  // namespace

Result<ScriptProfilerDocument> parse_script_profiler_json(std::string_view text) {
    Handler handler;
    if (!nlohmann::json::sax_parse(text, &handler)) {
        return unexpected(handler.error());
    }
    return handler.take();
}

}  // namespace sample::imports
