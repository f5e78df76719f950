#include "import/pprof_message.h"

#include "core/profile_proto.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <protozero/pbf_reader.hpp>

#include <array>
#include <limits>
#include <utility>

namespace sample::imports {

namespace {

using profile_proto::ProfileField;
using profile_proto::SampleField;
using protozero::pbf_wire_type;

/// The fields of one message. protozero checks lengths, and throws; that a field has the type which
/// its number says is checked here, and kept as is_good().
class Fields {
public:
    explicit Fields(std::string_view bytes) : reader_{bytes.data(), bytes.size()} {}

    bool next() { return is_good_ && reader_.next(); }
    [[nodiscard]] protozero::pbf_tag_type tag() const { return reader_.tag(); }
    void skip() { reader_.skip(); }

    std::uint64_t number() { return is_a(pbf_wire_type::varint) ? reader_.get_uint64() : 0; }
    std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
    std::string_view bytes() {
        const auto view =
            is_a(pbf_wire_type::length_delimited) ? reader_.get_view() : protozero::data_view{};
        return {view.data(), view.size()};
    }
    /// A repeated number, packed or not.
    template <class Number>
    void numbers(std::vector<Number>& into) {
        if (reader_.wire_type() != pbf_wire_type::length_delimited) {
            into.push_back(static_cast<Number>(number()));
            return;
        }
        for (const std::uint64_t each : reader_.get_packed_uint64()) {
            into.push_back(static_cast<Number>(each));
        }
    }
    [[nodiscard]] bool is_good() const { return is_good_; }
    [[nodiscard]] std::string_view rest() const {
        return {reader_.data().data(), reader_.data().size()};
    }

private:
    bool is_a(pbf_wire_type type) { return is_good_ = reader_.wire_type() == type; }

    protozero::pbf_reader reader_;
    bool is_good_ = true;
};

// Where the fields of a message go that are numbers: the first has the tag 1, and so on.
constexpr std::array kValueType{&PprofValueType::type, &PprofValueType::unit};
constexpr std::array kMapping{&PprofMapping::id,     &PprofMapping::start, &PprofMapping::limit,
                              &PprofMapping::offset, &PprofMapping::file,  &PprofMapping::build_id};
constexpr std::array kLine{&PprofLine::function, &PprofLine::line};
constexpr std::array kLocation{&PprofLocation::id, &PprofLocation::mapping,
                               &PprofLocation::address};
constexpr std::array kFunction{&PprofFunction::id, &PprofFunction::name,
                               &PprofFunction::system_name, &PprofFunction::file,
                               &PprofFunction::start_line};
constexpr std::array kLabel{&PprofLabel::key, &PprofLabel::text, &PprofLabel::number};

bool skip(Fields& fields) {
    fields.skip();
    return true;
}

/// False for a field that is not of its type; `other` takes what is none of `numbers`. Throws what
/// protozero throws.
template <class Message, std::size_t kCount, class Other = bool (*)(Fields&)>
bool read(Fields fields, Message& message,
          const std::array<std::uint64_t Message::*, kCount>& numbers, Other other = skip) {
    while (fields.next()) {
        const std::size_t index = fields.tag() - std::size_t{1};
        if (index < kCount) {
            message.*numbers[index] = fields.number();
        } else if (!other(fields)) {
            return false;
        }
    }
    return fields.is_good();
}

bool read_location(Fields location_fields, PprofLocation& location) {
    return read(location_fields, location, kLocation, [&](Fields& fields) {
        constexpr protozero::pbf_tag_type kLines = 4;
        return fields.tag() == kLines
                   ? read(Fields{fields.bytes()}, location.lines.emplace_back(), kLine)
                   : skip(fields);
    });
}

bool read_sample(Fields fields, PprofSample& sample) {
    while (fields.next()) {
        switch (SampleField{fields.tag()}) {
            case SampleField::location_id:
                fields.numbers(sample.locations);
                break;
            case SampleField::value:
                fields.numbers(sample.values);
                break;
            case SampleField::label:
                if (!read(Fields{fields.bytes()}, sample.labels.emplace_back(), kLabel)) {
                    return false;
                }
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_field(Fields& fields, PprofMessage& message) {
    switch (ProfileField{fields.tag()}) {
        case ProfileField::sample_type:
            return read(Fields{fields.bytes()}, message.types.emplace_back(), kValueType);
        case ProfileField::mapping:
            return read(Fields{fields.bytes()}, message.mappings.emplace_back(), kMapping);
        case ProfileField::location:
            return read_location(Fields{fields.bytes()}, message.locations.emplace_back());
        case ProfileField::function:
            return read(Fields{fields.bytes()}, message.functions.emplace_back(), kFunction);
        case ProfileField::string_table:
            message.strings.push_back(fields.bytes());
            break;
        case ProfileField::time_nanos:
            message.time_ns = fields.signed_number();
            break;
        case ProfileField::duration_nanos:
            message.duration_ns = fields.signed_number();
            break;
        case ProfileField::period_type:
            return read(Fields{fields.bytes()}, message.period_type, kValueType);
        case ProfileField::period:
            message.period = fields.signed_number();
            break;
        case ProfileField::comment:
            fields.numbers(message.comments);
            break;
        case ProfileField::default_sample_type:
            message.default_type = fields.number();
            break;
        default:
            fields.skip();
    }
    return fields.is_good();
}

/// Whether a message agrees with itself. Fills location_of_id and replaces ids by indices.
class Checker {
public:
    explicit Checker(PprofMessage& message) : message_{message} {}

    bool check();
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    using Indices = std::unordered_map<std::uint64_t, std::uint32_t>;

    bool fail(std::string_view what, std::size_t index, const std::string& why) {
        problem_ = numbered(what, index) + ": " + why;
        return false;
    }
    /// Strings and ids; `indices` is filled for a table with ids.
    template <class Entry, class... Texts>
    bool check_table(const std::vector<Entry>& table, std::string_view what, Indices* indices,
                     Texts... texts);
    bool check_location(std::size_t index);
    /// Replaces the id that a location has of `what` by the index of it.
    bool look_up(std::uint64_t& id, const Indices& indices, std::string_view what,
                 std::size_t location);

    PprofMessage& message_;
    Indices mappings_;
    Indices functions_;
    std::string problem_;
};

template <class Entry, class... Texts>
bool Checker::check_table(const std::vector<Entry>& table, std::string_view what, Indices* indices,
                          Texts... texts) {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (((table[i].*texts >= message_.strings.size()) || ...)) {
            return fail(what, i, "names a string that is not there");
        }
        if constexpr (requires { table[i].start_line; }) {
            if (table[i].start_line > kMax32) {
                return fail(what, i, "its line is negative or has more than 32 bits");
            }
        }
        if constexpr (requires { table[i].id; }) {
            if (table[i].id == 0) {
                return fail(what, i, "has the id 0");
            }
            if (!indices->emplace(table[i].id, static_cast<std::uint32_t>(i)).second) {
                return fail(what, i,
                            "has the id " + std::to_string(table[i].id) + " of another one");
            }
        }
    }
    return true;
}

bool Checker::look_up(std::uint64_t& id, const Indices& indices, std::string_view what,
                      std::size_t location) {
    if (id == 0) {
        return true;
    }
    const auto found = indices.find(id);
    if (found == indices.end()) {
        return fail("location ", location,
                    std::string{"there is no "}.append(what).append(" ") + std::to_string(id));
    }
    id = found->second + 1;
    return true;
}

bool Checker::check_location(std::size_t index) {
    // Deeper inlining is no compiler's, and a location is named by one byte.
    constexpr std::size_t kMaxLines = 256;
    PprofLocation& location = message_.locations[index];
    if (!look_up(location.mapping, mappings_, "mapping", index)) {
        return false;
    }
    if (location.lines.size() > kMaxLines) {
        return fail("location ", index, "has more than " + std::to_string(kMaxLines) + " lines");
    }
    for (PprofLine& line : location.lines) {
        if (line.line > kMax32) {
            return fail("location ", index, "a line is negative or has more than 32 bits");
        }
        if (!look_up(line.function, functions_, "function", index)) {
            return false;
        }
    }
    return true;
}

bool Checker::check() {
    if (message_.strings.empty() || !message_.strings.front().empty()) {
        problem_ = "the string table must begin with an empty string";
    } else if (message_.types.empty()) {
        problem_ = "there is no sample type";
    } else if (message_.default_type >= message_.strings.size()) {
        problem_ = "the default sample type names a string that is not there";
    }
    bool is_good = problem_.empty() &&
                   check_table(message_.types, "sample type ", nullptr, &PprofValueType::type,
                               &PprofValueType::unit) &&
                   check_table(message_.mappings, "mapping ", &mappings_, &PprofMapping::file,
                               &PprofMapping::build_id) &&
                   check_table(message_.functions, "function ", &functions_, &PprofFunction::name,
                               &PprofFunction::system_name, &PprofFunction::file) &&
                   check_table(message_.locations, "location ", &message_.location_of_id);
    for (std::size_t i = 0; is_good && i < message_.locations.size(); ++i) {
        is_good = check_location(i);
    }
    return is_good;
}

Unexpected wrong(const std::string& what) {
    return unexpected(ErrorCode::corrupt, what);
}

}  // namespace

Result<PprofMessage> read_pprof_message(std::string_view bytes) {
    PprofMessage message;
    Fields fields{bytes};
    const auto at = [&] {
        return "byte " + std::to_string(bytes.size() - fields.rest().size()) + ": ";
    };
    try {
        while (fields.next()) {
            if (!read_field(fields, message)) {
                return wrong(at() + "field " + std::to_string(fields.tag()) +
                             " of the profile does not parse");
            }
        }
    } catch (const protozero::exception& error) {
        return wrong(at() + "no protobuf message of pprof: " + error.what());
    }
    Checker checker{message};
    return checker.check() ? Result<PprofMessage>{std::move(message)} : wrong(checker.problem());
}

Result<void> read_pprof_samples(std::string_view bytes,
                                const std::function<std::string(const PprofSample&)>& take) {
    std::size_t count = 0;
    std::string problem;
    PprofSample sample;
    try {
        Fields fields{bytes};
        while (problem.empty() && fields.next()) {
            if (ProfileField{fields.tag()} != ProfileField::sample) {
                fields.skip();
                continue;
            }
            ++count;
            sample.locations.clear();
            sample.values.clear();
            sample.labels.clear();
            problem = read_sample(Fields{fields.bytes()}, sample)
                          ? take(sample)
                          : "a field has another type than it should";
        }
    } catch (const protozero::exception& error) {
        problem = error.what();
    }
    return problem.empty() ? Result<void>{}
                           : wrong(numbered("sample ", count - 1) + ": " + problem);
}

bool is_pprof(std::string_view bytes) {
    bool has_type = false;
    bool has_strings = false;
    try {
        Fields fields{bytes};
        while (fields.next()) {
            const auto field = ProfileField{fields.tag()};
            if (field > ProfileField::doc_url) {
                return false;
            }
            const bool is_string = field == ProfileField::string_table;
            if (is_string && !fields.bytes().empty() && !has_strings) {
                return false;
            }
            if (!is_string) {
                fields.skip();
            }
            has_strings = has_strings || is_string;
            has_type = has_type || field == ProfileField::sample_type;
        }
        return fields.is_good() && has_type && has_strings;
    } catch (const protozero::exception&) {
        return false;
    }
}

}  // namespace sample::imports
