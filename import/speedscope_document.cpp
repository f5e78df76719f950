#include "import/speedscope_document.h"

#include "import/json_fields.h"
#include "import/json_kind.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace sample::imports {

namespace {

/// Stacks and frames are numbered by 32 bits, and a stack costs 16 bytes.
constexpr std::size_t kMaxStacks = std::size_t{1} << 26;

/// What the parser is inside of.
enum class In : std::uint8_t {
    document,
    root,
    shared,
    frames,
    frame,
    profiles,
    profile,
    samples,
    sample,
    weights,
    events,
    event,
    unknown,
};

enum class Field : std::uint8_t {
    unknown,
    name,
    active,
    shared,
    frames,
    file,
    line,
    profiles,
    type,
    unit,
    start,
    end,
    samples,
    weights,
    events,
    at,
    frame,
};

struct Rule {
    In in;
    std::string_view key;
    Field field;
    bool required;
};

constexpr std::array kRules{
    Rule{In::root, "name", Field::name, false},
    Rule{In::root, "activeProfileIndex", Field::active, false},
    Rule{In::root, "shared", Field::shared, true},
    Rule{In::root, "profiles", Field::profiles, true},
    Rule{In::shared, "frames", Field::frames, true},
    Rule{In::frame, "name", Field::name, true},
    Rule{In::frame, "file", Field::file, false},
    Rule{In::frame, "line", Field::line, false},
    Rule{In::profile, "type", Field::type, true},
    Rule{In::profile, "name", Field::name, true},
    Rule{In::profile, "unit", Field::unit, true},
    Rule{In::profile, "startValue", Field::start, true},
    Rule{In::profile, "endValue", Field::end, true},
    Rule{In::profile, "samples", Field::samples, false},
    Rule{In::profile, "weights", Field::weights, false},
    Rule{In::profile, "events", Field::events, false},
    Rule{In::event, "type", Field::type, true},
    Rule{In::event, "at", Field::at, true},
    Rule{In::event, "frame", Field::frame, true},
};

/// Receives nlohmann-json's events. Returning false stops the parser; error() says why.
class Handler {
public:
    Handler() { document_.stacks.intern({}); }

    bool null() { return is_optional_null() || other("null"); }
    bool boolean(bool /*value*/) { return other("true or false"); }
    bool number_integer(std::int64_t value) { return number(static_cast<double>(value)); }
    bool number_unsigned(std::uint64_t value);
    bool number_float(double value, const std::string& /*text*/) { return number(value); }
    bool string(std::string& value);
    bool binary(nlohmann::json::binary_t& /*value*/) { return other("binary data"); }
    bool start_object(std::size_t /*size*/);
    bool key(std::string& key);
    bool end_object();
    bool start_array(std::size_t /*size*/);
    bool end_array();
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& exception) {
        error_ = malformed_json(position, exception.what()).error;
        return false;
    }

    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] SpeedscopeDocument take() { return std::move(document_); }

private:
    [[nodiscard]] In in() const { return fields_.in(); }
    [[nodiscard]] Field field() const { return fields_.field(); }
    /// `"line": null` says what a missing field says.
    [[nodiscard]] bool is_optional_null() const {
        return field() != Field::unknown && !fields_.rule()->required;
    }
    [[nodiscard]] SpeedscopeProfile& profile() { return document_.profiles.back(); }
    /// "profiles[0].samples[3]: ", or "".
    [[nodiscard]] std::string place() const;
    bool fail(const std::string& what);
    /// A value that is nothing here, fine only in an unknown field.
    bool other(std::string_view found);
    bool number(double value);
    bool enter(In what);
    bool set_type(const std::string& value);
    bool add_frame_to_stack(std::uint64_t frame);

    SpeedscopeDocument document_;
    JsonFields<Rule> fields_{kRules};
    std::uint32_t stack_ = 0;
    Error error_;
};

std::string Handler::place() const {
    const auto numbered = [](std::string_view what, std::size_t count) {
        return std::string{what}.append("[").append(std::to_string(count - 1)).append("]");
    };
    std::string place;
    for (const In each : fields_.inside()) {
        switch (each) {
            case In::frame:
                place += numbered("shared.frames", document_.frames.size());
                break;
            case In::profile:
                place += numbered("profiles", document_.profiles.size());
                break;
            case In::sample:
                place += numbered(".samples", document_.profiles.back().samples.size());
                break;
            case In::event:
                place += numbered(".events", document_.profiles.back().events.size());
                break;
            default:
                break;
        }
    }
    return place.empty() ? place : place + ": ";
}

bool Handler::fail(const std::string& what) {
    if (error_.context.empty()) {
        error_ = Error{ErrorCode::corrupt, 0, place() + what};
    }
    return false;
}

bool Handler::other(std::string_view found) {
    if (fields_.is_skipped()) {
        return true;
    }
    const Rule* const rule = fields_.rule();
    const std::string_view what = rule == nullptr ? "the document" : rule->key;
    return fail(std::string{what}.append(" cannot be or hold ").append(found));
}

bool Handler::number_unsigned(std::uint64_t value) {
    if (in() == In::sample) {
        return add_frame_to_stack(value);
    }
    if (field() == Field::line) {
        document_.frames.back().line = value;
        return true;
    }
    if (field() == Field::active) {
        document_.active = value;
        return true;
    }
    if (field() == Field::frame) {
        constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
        profile().events.back().frame = static_cast<std::uint32_t>(std::min(value, kMax32));
        return true;
    }
    return number(static_cast<double>(value));
}

bool Handler::number(double value) {
    if (in() == In::weights) {
        profile().weights.push_back(value);
        return true;
    }
    switch (field()) {
        case Field::start:
            profile().start = value;
            return true;
        case Field::end:
            profile().end = value;
            return true;
        case Field::at:
            profile().events.back().at = value;
            return true;
        case Field::line:
            return true;  // Below 0 or with a fraction: there is no such line.
        default:
            return other("this number");
    }
}

bool Handler::add_frame_to_stack(std::uint64_t frame) {
    if (frame >= std::numeric_limits<std::uint32_t>::max()) {
        return fail("there is no frame " + std::to_string(frame));
    }
    stack_ = document_.stacks.intern({stack_, static_cast<std::uint32_t>(frame + 1)});
    profile().samples.back() = stack_;
    return document_.stacks.size() <= kMaxStacks || fail("there are too many different stacks");
}

bool Handler::string(std::string& value) {
    if (fields_.is_skipped()) {
        return true;
    }
    switch (field()) {
        case Field::name:
            (in() == In::root    ? document_.name
             : in() == In::frame ? document_.frames.back().name
                                 : profile().name) = std::move(value);
            return true;
        case Field::file:
            document_.frames.back().file = std::move(value);
            return true;
        case Field::unit:
            profile().unit = std::move(value);
            return true;
        case Field::type:
            return set_type(value);
        default:
            return other("a string");
    }
}

bool Handler::set_type(const std::string& value) {
    if (in() == In::event) {
        profile().events.back().is_open = value == "O";
        return value == "O" || value == "C" || fail("type must be \"O\" or \"C\"");
    }
    profile().is_evented = value == "evented";
    return value == "evented" || value == "sampled" ||
           fail("type must be \"evented\" or \"sampled\"");
}

bool Handler::enter(In what) {
    return fields_.enter(what) || fail("nested too deeply for this format");
}

bool Handler::start_object(std::size_t /*size*/) {
    switch (in()) {
        case In::document:
            return enter(In::root);
        case In::frames:
            document_.frames.emplace_back();
            return enter(In::frame);
        case In::profiles:
            document_.profiles.emplace_back();
            return enter(In::profile);
        case In::events:
            profile().events.emplace_back();
            return enter(In::event);
        default:
            break;
    }
    if (in() == In::root && field() == Field::shared) {
        return enter(In::shared);
    }
    return fields_.is_skipped() ? enter(In::unknown) : other("an object");
}

bool Handler::key(std::string& key) {
    return fields_.go_to(key) || fail(key + " appears twice");
}

bool Handler::end_object() {
    if (const std::string_view missing = fields_.missing(); !missing.empty()) {
        return fail(std::string{missing} + " is missing");
    }
    if (in() == In::profile && !profile().is_evented &&
        profile().samples.size() != profile().weights.size()) {
        return fail("has " + std::to_string(profile().samples.size()) + " samples and " +
                    std::to_string(profile().weights.size()) + " weights");
    }
    fields_.leave();
    return true;
}

bool Handler::start_array(std::size_t /*size*/) {
    if (in() == In::samples) {
        profile().samples.push_back(0);
        stack_ = 0;
        return enter(In::sample);
    }
    if (fields_.is_skipped()) {
        return enter(In::unknown);
    }
    switch (field()) {
        case Field::frames:
            return enter(In::frames);
        case Field::profiles:
            return enter(In::profiles);
        case Field::samples:
            return enter(In::samples);
        case Field::weights:
            return enter(In::weights);
        case Field::events:
            return enter(In::events);
        default:
            return other("an array");
    }
}

bool Handler::end_array() {
    fields_.leave();
    return true;
}

}  // namespace

Result<SpeedscopeDocument> parse_speedscope(std::string_view text) {
    Handler handler;
    if (!nlohmann::json::sax_parse(text, &handler)) {
        return unexpected(handler.error());
    }
    return handler.take();
}

}  // namespace sample::imports
