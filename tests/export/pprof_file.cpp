#include "pprof_file.h"

#include "core/profile_proto.h"
#include "core/text.h"

#include <zlib.h>

#include <protozero/pbf_message.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

namespace sample::exports {

namespace {

using profile_proto::FunctionField;
using profile_proto::LabelField;
using profile_proto::LineField;
using profile_proto::LocationField;
using profile_proto::MappingField;
using profile_proto::ProfileField;
using profile_proto::SampleField;
using profile_proto::ValueTypeField;
using protozero::pbf_message;

/// Thrown inside this file only: protozero reports damage by exceptions, too.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& complaint) {
    if (!holds) {
        throw Refusal{complaint};
    }
}

[[noreturn]] void refuse_field(std::string_view message, std::uint32_t tag) {
    throw Refusal{std::string{message}.append(" has a field ").append(std::to_string(tag))};
}

std::string text_of(protozero::data_view view) {
    return {view.data(), view.size()};
}

class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_{bytes} {}

    PprofFile read() {
        read_strings();
        pbf_message<ProfileField> message{protozero::data_view{bytes_.data(), bytes_.size()}};
        while (message.next()) {
            read_field(message);
        }
        check_references();
        check_use();
        return std::move(file_);
    }

private:
    void read_strings() {
        pbf_message<ProfileField> message{protozero::data_view{bytes_.data(), bytes_.size()}};
        while (
            message.next(ProfileField::string_table, protozero::pbf_wire_type::length_delimited)) {
            strings_.push_back(text_of(message.get_view()));
            require(to_utf8(strings_.back()) == strings_.back(), "a string is not UTF-8");
        }
        require(!strings_.empty(), "no string table");
        require(strings_.front().empty(), "the first string is not empty");
        const std::set<std::string> distinct{strings_.begin(), strings_.end()};
        require(distinct.size() == strings_.size(), "a string is in the table twice");
    }

    [[nodiscard]] const std::string& string(std::int64_t index) const {
        require(index >= 0 && static_cast<std::uint64_t>(index) < strings_.size(),
                "no string " + std::to_string(index));
        return strings_[static_cast<std::size_t>(index)];
    }

    void read_field(pbf_message<ProfileField>& message) {
        switch (message.tag()) {
            case ProfileField::sample_type:
                file_.kinds.push_back(kind(message.get_view()));
                return;
            case ProfileField::sample:
                read_sample(message.get_view());
                return;
            case ProfileField::mapping:
                read_mapping(message.get_view());
                return;
            case ProfileField::location:
                read_location(message.get_view());
                return;
            case ProfileField::function:
                read_function(message.get_view());
                return;
            case ProfileField::string_table:
                message.skip();
                return;
            case ProfileField::period_type:
                file_.period_type = kind(message.get_view());
                return;
            default:
                read_number(message.tag(), message.get_int64());
        }
    }

    void read_number(ProfileField field, std::int64_t value) {
        switch (field) {
            case ProfileField::time_nanos:
                file_.time_nanos = value;
                return;
            case ProfileField::duration_nanos:
                file_.duration_nanos = value;
                return;
            case ProfileField::period:
                file_.period = value;
                return;
            case ProfileField::comment:
                file_.comments.push_back(string(value));
                return;
            case ProfileField::default_sample_type:
                file_.default_type = string(value);
                return;
            default:
                refuse_field("the profile", static_cast<std::uint32_t>(field));
        }
    }

    [[nodiscard]] PprofFile::Kind kind(protozero::data_view bytes) const {
        PprofFile::Kind kind;
        pbf_message<ValueTypeField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case ValueTypeField::type:
                    kind.type = string(message.get_int64());
                    break;
                case ValueTypeField::unit:
                    kind.unit = string(message.get_int64());
                    break;
                default:
                    refuse_field("a value type", static_cast<std::uint32_t>(message.tag()));
            }
        }
        require(!kind.type.empty() && !kind.unit.empty(), "a value type without type or unit");
        return kind;
    }

    void read_sample(protozero::data_view bytes) {
        PprofFile::Sample sample;
        pbf_message<SampleField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case SampleField::location_id:
                    for (const std::uint64_t id : message.get_packed_uint64()) {
                        sample.locations.push_back(id);
                    }
                    break;
                case SampleField::value:
                    for (const std::int64_t value : message.get_packed_int64()) {
                        require(value >= 0, "a sample has a negative value");
                        sample.values.push_back(value);
                    }
                    break;
                case SampleField::label:
                    read_label(message.get_view(), sample);
                    break;
                default:
                    refuse_field("a sample", static_cast<std::uint32_t>(message.tag()));
            }
        }
        file_.samples.push_back(std::move(sample));
    }

    void read_label(protozero::data_view bytes, PprofFile::Sample& sample) const {
        std::string key;
        std::string text;
        std::int64_t number = 0;
        pbf_message<LabelField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case LabelField::key:
                    key = string(message.get_int64());
                    break;
                case LabelField::str:
                    text = string(message.get_int64());
                    break;
                case LabelField::num:
                    number = message.get_int64();
                    break;
                default:
                    refuse_field("a label", static_cast<std::uint32_t>(message.tag()));
            }
        }
        require(!key.empty(), "a label without a key");
        require(text.empty() != (number == 0), "a label without a value, or with two");
        const bool is_new = text.empty() ? sample.numbers.emplace(key, number).second
                                         : sample.texts.emplace(key, text).second;
        require(is_new, "two labels '" + key + "'");
    }

    void read_mapping(protozero::data_view bytes) {
        std::uint64_t id = 0;
        PprofFile::Mapping mapping;
        pbf_message<MappingField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case MappingField::id:
                    id = message.get_uint64();
                    break;
                case MappingField::filename:
                    mapping.filename = string(message.get_int64());
                    break;
                case MappingField::build_id:
                    mapping.build_id = string(message.get_int64());
                    break;
                case MappingField::has_functions:
                    mapping.has_functions = message.get_bool();
                    break;
                case MappingField::has_filenames:
                case MappingField::has_line_numbers:
                case MappingField::has_inline_frames:
                    message.skip();
                    break;
                default:
                    refuse_field("a mapping", static_cast<std::uint32_t>(message.tag()));
            }
        }
        require(!mapping.filename.empty(), "a mapping without a file");
        add(file_.mappings, id, std::move(mapping), "mapping");
    }

    void read_location(protozero::data_view bytes) {
        std::uint64_t id = 0;
        PprofFile::Location location;
        pbf_message<LocationField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case LocationField::id:
                    id = message.get_uint64();
                    break;
                case LocationField::mapping_id:
                    location.mapping = message.get_uint64();
                    break;
                case LocationField::line:
                    location.lines.push_back(line(message.get_view()));
                    break;
                default:
                    refuse_field("a location", static_cast<std::uint32_t>(message.tag()));
            }
        }
        require(!location.lines.empty(), "a location without a function");
        add(file_.locations, id, std::move(location), "location");
    }

    [[nodiscard]] static PprofFile::Line line(protozero::data_view bytes) {
        PprofFile::Line line;
        pbf_message<LineField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case LineField::function_id:
                    line.function = message.get_uint64();
                    break;
                case LineField::line:
                    line.line = message.get_int64();
                    break;
                default:
                    refuse_field("a line", static_cast<std::uint32_t>(message.tag()));
            }
        }
        return line;
    }

    void read_function(protozero::data_view bytes) {
        std::uint64_t id = 0;
        PprofFile::Function function;
        pbf_message<FunctionField> message{bytes};
        while (message.next()) {
            switch (message.tag()) {
                case FunctionField::id:
                    id = message.get_uint64();
                    break;
                case FunctionField::name:
                    function.name = string(message.get_int64());
                    break;
                case FunctionField::system_name:
                    function.system_name = string(message.get_int64());
                    break;
                case FunctionField::filename:
                    function.filename = string(message.get_int64());
                    break;
                case FunctionField::start_line:
                    function.start_line = message.get_int64();
                    break;
                default:
                    refuse_field("a function", static_cast<std::uint32_t>(message.tag()));
            }
        }
        require(!function.name.empty(), "a function without a name");
        add(file_.functions, id, std::move(function), "function");
    }

    template <class Entry>
    static void add(std::map<std::uint64_t, Entry>& entries, std::uint64_t id, Entry entry,
                    const std::string& what) {
        require(id == entries.size() + 1, "a " + what + " out of order: " + std::to_string(id));
        entries.emplace(id, std::move(entry));
    }

    /// Whether what is used are all `entries`, which count from 1.
    template <class Entry>
    static void require_all_used(const std::map<std::uint64_t, Entry>& entries,
                                 std::set<std::uint64_t> used, const std::string& what) {
        used.erase(0);
        require(used.size() == entries.size(), "a " + what + " that nothing leads to");
    }

    void check_use() const {
        std::set<std::uint64_t> locations;
        std::set<std::uint64_t> functions;
        std::set<std::uint64_t> mappings;
        for (const PprofFile::Sample& sample : file_.samples) {
            locations.insert(sample.locations.begin(), sample.locations.end());
        }
        for (const auto& [id, location] : file_.locations) {
            mappings.insert(location.mapping);
            for (const PprofFile::Line& line : location.lines) {
                functions.insert(line.function);
            }
        }
        require_all_used(file_.locations, std::move(locations), "location");
        require_all_used(file_.functions, std::move(functions), "function");
        require_all_used(file_.mappings, std::move(mappings), "mapping");
    }

    void check_references() const {
        require(!file_.kinds.empty(), "no sample types");
        require(std::any_of(file_.kinds.begin(), file_.kinds.end(),
                            [this](const PprofFile::Kind& kind) {
                                return kind.type == file_.default_type;
                            }),
                "the default type is none of the sample types");
        for (const PprofFile::Sample& sample : file_.samples) {
            require(sample.values.size() == file_.kinds.size(),
                    "a sample has " + std::to_string(sample.values.size()) + " values for " +
                        std::to_string(file_.kinds.size()) + " types");
            for (const std::uint64_t id : sample.locations) {
                require(file_.locations.contains(id), "no location " + std::to_string(id));
            }
        }
        for (const auto& [id, location] : file_.locations) {
            require(location.mapping == 0 || file_.mappings.contains(location.mapping),
                    "no mapping " + std::to_string(location.mapping));
            for (const PprofFile::Line& line : location.lines) {
                require(file_.functions.contains(line.function),
                        "no function " + std::to_string(line.function));
            }
        }
    }

    std::string_view bytes_;
    std::vector<std::string> strings_;
    PprofFile file_;
};

}  // namespace

Result<PprofFile> read_pprof_message(std::string_view message) {
    try {
        return Reader{message}.read();
    } catch (const std::exception& refusal) {
        return unexpected(ErrorCode::corrupt, refusal.what());
    }
}

Result<PprofFile> read_pprof(std::string_view gzipped) {
    const Result<std::string> message = gunzip(gzipped);
    return message ? read_pprof_message(*message) : unexpected(message.error());
}

Result<std::string> gunzip(std::string_view bytes) {
    constexpr std::size_t kBufferBytes = 1U << 16U;
    constexpr int kGzipWindow = 15 + 16;
    std::string input{bytes};
    z_stream stream{};
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
        return unexpected(ErrorCode::system, "zlib has no memory");
    }
    std::string result;
    std::array<char, kBufferBytes> buffer{};
    int status = Z_OK;
    while (status == Z_OK) {
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        status = inflate(&stream, Z_NO_FLUSH);
        result.append(buffer.data(), buffer.size() - stream.avail_out);
    }
    const bool is_whole = status == Z_STREAM_END && stream.avail_in == 0;
    inflateEnd(&stream);
    if (!is_whole) {
        return unexpected(ErrorCode::corrupt, "damaged gzip, or bytes behind it");
    }
    return result;
}

}  // namespace sample::exports
