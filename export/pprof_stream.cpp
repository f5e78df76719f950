#include "export/pprof_stream.h"

#include "export/utf8.h"

namespace sample::exports::pprof {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

}  // namespace

Stream::Stream(const Sink& sink) : gzip_{sink}, fields_{buffer_} {
    fields_.add_string(ProfileField::string_table, "");
    ++strings_;
}

void Stream::message(ProfileField field, std::string_view bytes) {
    fields_.add_message(field, bytes.data(), bytes.size());
    flush_if_full();
}

void Stream::number(ProfileField field, std::uint64_t value) {
    fields_.add_uint64(field, value);
}

std::uint64_t Stream::add_string(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    fields_.add_string(ProfileField::string_table, one_line(text));
    flush_if_full();
    return strings_++;
}

std::uint64_t Stream::intern_string(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    const auto [known, is_new] = known_.try_emplace(text, strings_);
    return is_new ? add_string(text) : known->second;
}

Result<void> Stream::finish() {
    gzip_.write(buffer_);
    buffer_.clear();
    return gzip_.finish();
}

void Stream::flush_if_full() {
    if (buffer_.size() >= kBufferBytes) {
        gzip_.write(buffer_);
        buffer_.clear();
    }
}

}  // namespace sample::exports::pprof
