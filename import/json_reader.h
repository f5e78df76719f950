// Reads a JSON document with known fields into plain structures, value by value as they stand.
//
// A table says what an object has. Fields that it does not name are skipped, with all that is in
// them; a field that comes twice or is missing is refused, and so is what nests deeper than any of
// these formats does. simdjson finds all tokens of the text first, which takes a copy of the text
// and four bytes a token; from then on a value takes only the memory of what it is read into. Every
// value is looked at, also those that are skipped, so that no malformed text passes.
#pragma once

#include "core/result.h"
#include "import/text_lines.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace sample::imports {

class JsonReader;
using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;

/// Where the value of a field goes: to a member, or to a function, which reads it. A table has at
/// most 32 fields.
template <class Into>
struct JsonField {
    using Read = bool (*)(JsonReader& reader, std::string_view key, JsonValue value, Into& into);

    std::string_view key;
    std::variant<std::uint64_t Into::*, std::uint32_t Into::*, double Into::*, std::string Into::*,
                 Read>
        to;
    bool is_required = false;
};

/// What returns bool is false where something is refused: then nothing more may be read, and
/// error() says why. A value is read once in a pass; `key` is the field whose value it is, or is
/// in.
class JsonReader {
public:
    /// The text of an error, by the field, what it must do ("be a string") and what it has.
    using Wording = std::string (*)(std::string_view key, std::string_view expected,
                                    std::string_view found);
    /// "KEY must EXPECTED, not FOUND".
    static std::string must(std::string_view key, std::string_view expected,
                            std::string_view found);

    /// With `null_is_missing`, a null says of an optional field what its absence says.
    explicit JsonReader(std::string_view text, Wording wording = must,
                        bool null_is_missing = false);

    /// The whole document: one object, which `read` takes. Called again, it begins anew.
    template <class Read>
    [[nodiscard]] bool document(Read read) {
        JsonObject root;
        return open(root) && read(root) && close();
    }

    [[nodiscard]] bool read(std::string_view key, JsonValue value, std::uint64_t& into,
                            std::string_view expected = "be an integer from 0 to 2^64-1");
    [[nodiscard]] bool read(std::string_view key, JsonValue value, std::uint32_t& into);
    /// Any number, as the nearest double.
    [[nodiscard]] bool read(std::string_view key, JsonValue value, double& into);
    [[nodiscard]] bool read(std::string_view key, JsonValue value, std::string& into);
    [[nodiscard]] bool read(std::string_view key, JsonValue value, JsonObject& into,
                            std::string_view expected = "be an object");
    /// All fields of an object.
    template <class Into>
    [[nodiscard]] bool read(JsonObject object, Into& into,
                            std::type_identity_t<std::span<const JsonField<Into>>> fields);
    /// `take` takes each element of an array.
    template <class Take>
    [[nodiscard]] bool array(std::string_view key, JsonValue value, Take take);
    /// The same for an array of objects; `place` is as in numbered().
    template <class Take>
    [[nodiscard]] bool objects(std::string_view key, JsonValue value, std::string_view place,
                               Take take) {
        std::size_t index = 0;
        return array(key, value, [&](JsonValue each) {
            JsonObject object;
            return read(key, each, object, "hold objects") &&
                   (take(object) || at(numbered(place, index))) && ++index != 0;
        });
    }
    /// A field that an iteration came to.
    [[nodiscard]] bool take(simdjson::simdjson_result<simdjson::ondemand::field> field,
                            std::string_view& key, JsonValue& value);
    /// A value that nobody asks for, `depth` levels inside of one.
    [[nodiscard]] bool skip(JsonValue value, std::size_t depth = 0);

    /// Returns false.
    bool fail(const std::string& what, ErrorCode code = ErrorCode::corrupt);
    /// Puts `place` before the one that is known already of what failed, but for malformed text, of
    /// which the byte is known. Returns false.
    bool at(const std::string& place);

    [[nodiscard]] Error error() const;

private:
    [[nodiscard]] bool open(JsonObject& root);
    [[nodiscard]] bool close();
    template <class Take>
    [[nodiscard]] bool each_field(JsonObject object, Take take);
    [[nodiscard]] static bool is_null(JsonValue value);
    /// Fails unless `error` says success: what simdjson refuses is no JSON, but for another type.
    [[nodiscard]] bool check(simdjson::error_code error);
    [[nodiscard]] bool check(simdjson::error_code error, std::string_view key, JsonValue value,
                             std::string_view expected);

    std::string_view given_;
    Wording wording_;
    bool null_is_missing_;
    simdjson::padded_string text_;
    simdjson::ondemand::parser parser_;
    simdjson::ondemand::document document_;
    bool is_open_ = false;
    Error error_;
    bool names_byte_ = false;
    std::string place_;
};

template <class Take>
bool JsonReader::each_field(JsonObject object, Take take_field) {
    for (auto field : object) {
        std::string_view key;
        JsonValue value;
        if (!take(field, key, value) || !take_field(key, value)) {
            return false;
        }
    }
    return true;
}

template <class Into>
bool JsonReader::read(JsonObject object, Into& into,
                      std::type_identity_t<std::span<const JsonField<Into>>> fields) {
    std::uint32_t seen = 0;
    const auto take_field = [&](std::string_view key, JsonValue value) {
        const auto field = std::find_if(fields.begin(), fields.end(),
                                        [&](const JsonField<Into>& one) { return one.key == key; });
        if (field == fields.end()) {
            return skip(value);
        }
        const auto bit = std::uint32_t{1} << static_cast<unsigned>(field - fields.begin());
        if ((seen & bit) != 0) {
            return fail(std::string{key} + " appears twice");
        }
        seen |= bit;
        if (!field->is_required && null_is_missing_ && is_null(value)) {
            return true;
        }
        const auto read_to = [&](auto to) {
            if constexpr (std::is_member_pointer_v<decltype(to)>) {
                return read(key, value, into.*to);
            } else {
                return to(*this, key, value, into);
            }
        };
        return std::visit(read_to, field->to);
    };
    if (!each_field(object, take_field)) {
        return false;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].is_required && (seen >> i & 1U) == 0) {
            return fail(std::string{fields[i].key} + " is missing");
        }
    }
    return true;
}

template <class Take>
bool JsonReader::array(std::string_view key, JsonValue value, Take take) {
    simdjson::ondemand::array array;
    if (!check(value.get_array().get(array), key, value, "be an array")) {
        return false;
    }
    for (auto each : array) {
        JsonValue element;
        if (!check(each.get(element)) || !take(element)) {
            return false;
        }
    }
    return true;
}

}  // namespace sample::imports
