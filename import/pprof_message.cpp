#include "import/pprof_message.h"

#include "core/profile_proto.h"
#include "import/pprof_check.h"

#include <protozero/pbf_reader.hpp>

namespace sample::imports {

namespace {

using profile_proto::ProfileField;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// The fields of one message. protozero checks lengths, and throws; that a field has the type which
/// its number says is checked here, and kept as is_good().
class Fields {
public:
    explicit Fields(std::string_view bytes) : reader_{bytes.data(), bytes.size()} {}

    bool next() { return is_good_ && reader_.next(); }
    [[nodiscard]] protozero::pbf_tag_type tag() const { return reader_.tag(); }
    void skip() { reader_.skip(); }

    std::uint64_t number() {
        if (reader_.wire_type() != pbf_wire_type::varint) {
            is_good_ = false;
            return 0;
        }
        return reader_.get_uint64();
    }
    std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
    std::string_view bytes() {
        if (reader_.wire_type() != pbf_wire_type::length_delimited) {
            is_good_ = false;
            return {};
        }
        const protozero::data_view view = reader_.get_view();
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
    pbf_reader reader_;
    bool is_good_ = true;
};

bool read_value_type(Fields fields, PprofValueType& type) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                type.type = fields.number();
                break;
            case 2:
                type.unit = fields.number();
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_mapping(Fields fields, PprofMapping& mapping) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                mapping.id = fields.number();
                break;
            case 2:
                mapping.start = fields.number();
                break;
            case 3:
                mapping.limit = fields.number();
                break;
            case 4:
                mapping.offset = fields.number();
                break;
            case 5:
                mapping.file = fields.number();
                break;
            case 6:
                mapping.build_id = fields.number();
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_line(Fields fields, PprofLine& line) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                line.function = fields.number();
                break;
            case 2:
                line.line = fields.signed_number();
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_location(Fields fields, PprofLocation& location) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                location.id = fields.number();
                break;
            case 2:
                location.mapping = fields.number();
                break;
            case 3:
                location.address = fields.number();
                break;
            case 4:
                if (!read_line(Fields{fields.bytes()}, location.lines.emplace_back())) {
                    return false;
                }
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_function(Fields fields, PprofFunction& function) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                function.id = fields.number();
                break;
            case 2:
                function.name = fields.number();
                break;
            case 3:
                function.system_name = fields.number();
                break;
            case 4:
                function.file = fields.number();
                break;
            case 5:
                function.start_line = fields.signed_number();
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_label(Fields fields, PprofLabel& label) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                label.key = fields.number();
                break;
            case 2:
                label.text = fields.number();
                break;
            case 3:
                label.number = fields.signed_number();
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

bool read_sample(Fields fields, PprofSample& sample) {
    while (fields.next()) {
        switch (fields.tag()) {
            case 1:
                fields.numbers(sample.locations);
                break;
            case 2:
                fields.numbers(sample.values);
                break;
            case 3:
                if (!read_label(Fields{fields.bytes()}, sample.labels.emplace_back())) {
                    return false;
                }
                break;
            default:
                fields.skip();
        }
    }
    return fields.is_good();
}

/// False for a field that is not of its type. Throws what protozero throws.
bool read_field(Fields& fields, PprofMessage& message) {
    switch (ProfileField{fields.tag()}) {
        case ProfileField::sample_type:
            return read_value_type(Fields{fields.bytes()}, message.types.emplace_back());
        case ProfileField::mapping:
            return read_mapping(Fields{fields.bytes()}, message.mappings.emplace_back());
        case ProfileField::location:
            return read_location(Fields{fields.bytes()}, message.locations.emplace_back());
        case ProfileField::function:
            return read_function(Fields{fields.bytes()}, message.functions.emplace_back());
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
            return read_value_type(Fields{fields.bytes()}, message.period_type);
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
    if (auto checked = check_pprof_message(message); !checked) {
        return unexpected(checked.error());
    }
    return message;
}

bool PprofSamples::next(PprofSample& sample) {
    sample.locations.clear();
    sample.values.clear();
    sample.labels.clear();
    try {
        Fields fields{rest_};
        while (fields.next()) {
            if (ProfileField{fields.tag()} != ProfileField::sample) {
                fields.skip();
                continue;
            }
            ++number_;
            if (!read_sample(Fields{fields.bytes()}, sample)) {
                problem_ = "a field has another type than it should";
                return false;
            }
            rest_ = fields.rest();
            return true;
        }
    } catch (const protozero::exception& error) {
        problem_ = error.what();
    }
    return false;
}

bool looks_like_pprof(std::string_view bytes) {
    bool has_type = false;
    bool has_strings = false;
    try {
        Fields fields{bytes};
        while (fields.next()) {
            const auto field = ProfileField{fields.tag()};
            if (field == ProfileField::string_table) {
                if (!fields.bytes().empty() && !has_strings) {
                    return false;
                }
                has_strings = true;
                continue;
            }
            has_type = has_type || field == ProfileField::sample_type;
            if (fields.tag() > static_cast<protozero::pbf_tag_type>(ProfileField::doc_url)) {
                return false;
            }
            fields.skip();
        }
        return fields.is_good() && has_type && has_strings;
    } catch (const protozero::exception&) {
        return false;
    }
}

}  // namespace sample::imports
