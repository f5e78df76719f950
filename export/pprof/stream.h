// A pprof file in the making: fields of the outermost message, one after the other, gzipped.
//
// Protocol buffers let fields come in any order and repeated ones in pieces, so every string enters
// the table where it is first needed, once.
#pragma once

#include "core/profile_proto.h"
#include "core/result.h"
#include "core/text.h"
#include "export/shared/gzip_sink.h"
#include "export/shared/writer.h"

#include <protozero/pbf_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sample::exports::pprof {

using profile_proto::FunctionField;
using profile_proto::LabelField;
using profile_proto::LineField;
using profile_proto::LocationField;
using profile_proto::MappingField;
using profile_proto::ProfileField;
using profile_proto::SampleField;
using profile_proto::ValueTypeField;

/// Keeps the sink, which must outlive it. Failures are kept until finish().
class Stream {
public:
    explicit Stream(const Sink& sink) : gzip_{sink} {
        fields_.add_string(ProfileField::string_table, "");
    }

    void message(ProfileField field, std::string_view bytes) {
        fields_.add_message(field, bytes.data(), bytes.size());
        flush_above(kBufferBytes);
    }
    void number(ProfileField field, std::uint64_t value) { fields_.add_uint64(field, value); }

    /// The index of `text`, which becomes one line of UTF-8; 0 for the empty one.
    std::uint64_t string(std::string_view text) {
        const auto [known, is_new] = strings_.try_emplace(one_line(text), strings_.size());
        if (is_new) {
            fields_.add_string(ProfileField::string_table, known->first);
            flush_above(kBufferBytes);
        }
        return known->second;
    }

    [[nodiscard]] bool is_good() const { return gzip_.is_good(); }
    [[nodiscard]] Result<void> finish() {
        flush_above(0);
        return gzip_.finish();
    }

private:
    static constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

    void flush_above(std::size_t bytes) {
        if (buffer_.size() >= bytes) {
            gzip_.write(buffer_);
            buffer_.clear();
        }
    }

    GzipSink gzip_;
    std::string buffer_;
    protozero::pbf_builder<ProfileField> fields_{buffer_};
    std::unordered_map<std::string, std::uint64_t> strings_{{"", 0}};
};

}  // namespace sample::exports::pprof
