#include "import/json_reader.h"

#include "import/json_kind.h"

#include <array>
#include <utility>

namespace sample::imports {

namespace {

using simdjson::SUCCESS;
using Type = simdjson::ondemand::json_type;

std::string_view name_of(Type type) {
    constexpr std::array<std::string_view, 7> kNames{
        "nothing", "an array", "an object", "a number", "a string", "true or false", "null"};
    static_assert(static_cast<int>(Type::array) == 1 && static_cast<int>(Type::null) == 6);
    return kNames[static_cast<std::size_t>(type)];
}

/// What stands there; empty for what is no value.
std::string_view describe(JsonValue value) {
    Type type{};
    if (value.type().get(type) != SUCCESS) {
        return {};
    }
    if (type != Type::number || value.get_uint64().error() == SUCCESS) {
        return name_of(type);
    }
    if (value.get_int64().error() == SUCCESS) {
        return "a negative number";
    }
    return value.get_double().error() == SUCCESS ? "a fraction or a number of more than 64 bits"
                                                 : std::string_view{};
}

}  // namespace

std::string JsonReader::must(std::string_view key, std::string_view expected,
                             std::string_view found) {
    return std::string{key}.append(" must ").append(expected).append(", not ").append(found);
}

JsonReader::JsonReader(std::string_view text, Wording wording, bool null_is_missing)
    : given_{text}, wording_{wording}, null_is_missing_{null_is_missing}, text_{text} {}

bool JsonReader::open(JsonObject& root) {
    Type type{};
    if (std::exchange(is_open_, true)) {
        document_.rewind();
    } else if (!check(parser_.iterate(text_).get(document_))) {
        return false;
    }
    if (!check(document_.type().get(type))) {
        return false;
    }
    return type == Type::object ? check(document_.get_object().get(root))
                                : fail(wording_("the document", "be an object", name_of(type)));
}

bool JsonReader::close() {
    const bool is_at_end = document_.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return is_at_end || check(simdjson::TAPE_ERROR);
}

bool JsonReader::read(std::string_view key, JsonValue value, std::uint64_t& into,
                      std::string_view expected) {
    return check(value.get_uint64().get(into), key, value, expected);
}

bool JsonReader::read(std::string_view key, JsonValue value, std::uint32_t& into) {
    std::uint64_t number = 0;
    const bool is_read = read(key, value, number);
    into = static_cast<std::uint32_t>(number);
    return is_read && (into == number || fail(std::string{key} + " has more than 32 bits"));
}

bool JsonReader::read(std::string_view key, JsonValue value, double& into) {
    return check(value.get_double().get(into), key, value, "be a number");
}

bool JsonReader::read(std::string_view key, JsonValue value, std::string& into) {
    std::string_view text;
    const bool is_read = check(value.get_string().get(text), key, value, "be a string");
    into = text;
    return is_read;
}

bool JsonReader::read(std::string_view key, JsonValue value, JsonObject& into,
                      std::string_view expected) {
    return check(value.get_object().get(into), key, value, expected);
}

bool JsonReader::take(simdjson::simdjson_result<simdjson::ondemand::field> field,
                      std::string_view& key, JsonValue& value) {
    return check(field.unescaped_key().get(key)) && check(field.value().get(value));
}

bool JsonReader::is_null(JsonValue value) {
    bool is_null = false;
    return value.is_null().get(is_null) == SUCCESS && is_null;
}

bool JsonReader::skip(JsonValue value, std::size_t depth) {
    constexpr std::size_t kMaxNesting = 64;
    if (depth > kMaxNesting) {
        return fail("nested too deeply for this format");
    }
    const auto skip_inner = [&](JsonValue inner) { return skip(inner, depth + 1); };
    Type type{};
    JsonObject object;
    if (!check(value.type().get(type))) {
        return false;
    }
    switch (type) {
        case Type::array:
            return array({}, value, skip_inner);
        case Type::object:
            return check(value.get_object().get(object)) &&
                   each_field(object, [&](std::string_view /*key*/, JsonValue inner) {
                       return skip_inner(inner);
                   });
        case Type::number:
            // Most are integers, which cost less.
            return value.get_uint64().error() == SUCCESS || check(value.get_double().error());
        case Type::string:
            return check(value.get_string().error());
        case Type::boolean:
            return check(value.get_bool().error());
        case Type::null:
            return is_null(value) || check(simdjson::N_ATOM_ERROR);
    }
    return false;
}

bool JsonReader::fail(const std::string& what, ErrorCode code) {
    error_ = Error{code, 0, what};
    return false;
}

bool JsonReader::check(simdjson::error_code error) {
    if (error == SUCCESS) {
        return true;
    }
    names_byte_ = true;
    return fail(malformed_json(given_, simdjson::error_message(error)).error.context);
}

bool JsonReader::check(simdjson::error_code error, std::string_view key, JsonValue value,
                       std::string_view expected) {
    if (error != simdjson::INCORRECT_TYPE && error != simdjson::NUMBER_ERROR) {
        return check(error);
    }
    const std::string_view found = describe(value);
    return found.empty() ? check(error) : fail(wording_(key, expected, found));
}

bool JsonReader::at(const std::string& place) {
    place_.insert(0, names_byte_ ? "" : place);
    return false;
}

Error JsonReader::error() const {
    Error error = error_;
    error.context.insert(0, place_.empty() ? place_ : place_ + ": ");
    return error;
}

}  // namespace sample::imports
