// Messages of profile.proto for tests, valid unless a test makes them otherwise.
#pragma once

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace sample::imports {

/// Where a mapping's addresses are, and where they begin in its file.
struct PprofRange {
    std::uint64_t start = 0;
    std::uint64_t limit = 0;
    std::uint64_t offset = 0;
};

/// Writes the fields of a profile in the order of the calls. Strings are given by text.
class PprofBuilder {
public:
    using Ids = std::vector<std::uint64_t>;
    using Values = std::vector<std::int64_t>;
    struct Line {
        std::uint64_t function;
        std::int64_t line;
    };
    struct Label {
        std::string key;
        std::string text;
        std::int64_t number = 0;
    };

    std::uint64_t text(const std::string& value) {
        for (std::size_t i = 0; i < strings_.size(); ++i) {
            if (strings_[i] == value) {
                return i;
            }
        }
        strings_.push_back(value);
        return strings_.size() - 1;
    }
    PprofBuilder& type(const std::string& type, const std::string& unit) {
        protozero::pbf_writer writer{bytes_};
        protozero::pbf_writer message{writer, 1};
        message.add_uint64(1, text(type));
        message.add_uint64(2, text(unit));
        return *this;
    }
    PprofBuilder& sample(const Ids& locations, const Values& values,
                         const std::vector<Label>& labels = {}) {
        protozero::pbf_writer writer{bytes_};
        protozero::pbf_writer message{writer, 2};
        message.add_packed_uint64(1, locations.begin(), locations.end());
        message.add_packed_int64(2, values.begin(), values.end());
        for (const Label& label : labels) {
            protozero::pbf_writer inner{message, 3};
            inner.add_uint64(1, text(label.key));
            inner.add_uint64(2, text(label.text));
            inner.add_int64(3, label.number);
        }
        return *this;
    }
    PprofBuilder& mapping(std::uint64_t id, const std::string& file, const std::string& build_id,
                          const PprofRange& range = {}) {
        protozero::pbf_writer writer{bytes_};
        protozero::pbf_writer message{writer, 3};
        message.add_uint64(1, id);
        message.add_uint64(2, range.start);
        message.add_uint64(3, range.limit);
        message.add_uint64(4, range.offset);
        message.add_uint64(5, text(file));
        message.add_uint64(6, text(build_id));
        return *this;
    }
    PprofBuilder& location(std::uint64_t id, const std::vector<Line>& lines,
                           std::uint64_t mapping = 0, std::uint64_t address = 0) {
        protozero::pbf_writer writer{bytes_};
        protozero::pbf_writer message{writer, 4};
        message.add_uint64(1, id);
        message.add_uint64(2, mapping);
        message.add_uint64(3, address);
        for (const Line& line : lines) {
            protozero::pbf_writer inner{message, 4};
            inner.add_uint64(1, line.function);
            inner.add_int64(2, line.line);
        }
        return *this;
    }
    PprofBuilder& function(std::uint64_t id, const std::string& name, const std::string& file = "",
                           std::int64_t line = 0, const std::string& system_name = "") {
        protozero::pbf_writer writer{bytes_};
        protozero::pbf_writer message{writer, 5};
        message.add_uint64(1, id);
        message.add_uint64(2, text(name));
        message.add_uint64(3, text(system_name));
        message.add_uint64(4, text(file));
        message.add_int64(5, line);
        return *this;
    }
    PprofBuilder& number(std::uint32_t field, std::int64_t value) {
        protozero::pbf_writer{bytes_}.add_int64(field, value);
        return *this;
    }
    /// Bytes as they are, at this place.
    PprofBuilder& raw(const std::string& bytes) {
        bytes_ += bytes;
        return *this;
    }

    /// The message, the string table last.
    [[nodiscard]] std::string bytes() const {
        std::string result = bytes_;
        protozero::pbf_writer writer{result};
        for (const std::string& each : strings_) {
            writer.add_string(6, each);
        }
        return result;
    }

private:
    std::vector<std::string> strings_{""};
    std::string bytes_;
};

}  // namespace sample::imports
