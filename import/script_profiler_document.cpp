#include "import/script_profiler_document.h"

#include "import/json_fields.h"
#include "import/json_kind.h"
#include "import/script_profiler_fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sample::imports {

namespace {

constexpr std::uint64_t kVersion = 2;

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
    [[nodiscard]] In in() const { return fields_.in(); }
    [[nodiscard]] Field field() const { return fields_.field(); }
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
    JsonFields<FieldRule> fields_{kFields};
    Error error_;
};

std::string Handler::place() const {
    const std::vector<In>& inside = fields_.inside();
    for (auto each = inside.rbegin(); each != inside.rend(); ++each) {
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
            break;
    }
    const FieldRule& rule = *fields_.rule();
    return fail(std::string{rule.key}.append(" must be ").append(describe(rule.type)) + suffix);
}

bool Handler::scalar(std::string_view found) {
    return fields_.is_skipped() || wrong(found);
}

bool Handler::enter(In what) {
    return fields_.enter(what) || fail("nested too deeply for this format");
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
    return field() == Field::scale ? number_float(static_cast<double>(value), "") : set(value);
}

bool Handler::set(std::uint64_t value) {
    switch (field()) {
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
    if (field() != Field::scale) {
        return scalar("a fraction or a number of more than 64 bits");
    }
    document_.scale = value;
    return (std::isfinite(value) && value > 0) || fail("Scale must be greater than 0");
}

bool Handler::string(std::string& value) {
    std::string* const text = text_field();
    if (text == nullptr) {
        return scalar("a string");
    }
    *text = std::move(value);
    return true;
}

std::string* Handler::text_field() {
    switch (field()) {
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
            return enter(In::category);
        case In::nodes:
            document_.nodes.emplace_back();
            return enter(In::node);
        case In::functions:
            document_.functions.emplace_back();
            return enter(In::function);
        default:
            return fields_.is_skipped() ? enter(In::unknown) : wrong("an object");
    }
}

bool Handler::key(std::string& key) {
    return fields_.go_to(key) || fail(key + " appears twice");
}

bool Handler::end_object() {
    if (!check_complete()) {
        return false;
    }
    fields_.leave();
    return true;
}

bool Handler::check_complete() {
    if (const std::string_view missing = fields_.missing(); !missing.empty()) {
        return fail(std::string{missing} + " is missing");
    }
    if (in() != In::node) {
        return true;
    }
    if (fields_.has(Field::function_ids) != fields_.has(Field::node_ids)) {
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
    if (fields_.is_skipped()) {
        return enter(In::unknown);
    }
    switch (field()) {
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
    fields_.leave();
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
