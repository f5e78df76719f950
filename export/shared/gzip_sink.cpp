#include "export/shared/gzip_sink.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace sample::exports {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;
constexpr int kLevel = 1;
constexpr int kGzipWindow = 15 + 16;  ///< 16 asks for gzip instead of zlib.
constexpr int kMemoryLevel = 8;       ///< zlib's default.

}  // namespace

GzipSink::GzipSink(const Sink& sink)
    : sink_{sink}, stream_{std::make_unique<z_stream_s>()}, compressed_(kBufferBytes) {
    if (deflateInit2(stream_.get(), kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        result_ = unexpected(ErrorCode::system, "cannot compress: zlib has no memory");
    }
}

GzipSink::~GzipSink() {
    deflateEnd(stream_.get());
}

void GzipSink::write(std::string_view bytes) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    while (!bytes.empty() && result_) {
        const std::string_view piece = bytes.substr(0, kMost);
        deflate(piece, Z_NO_FLUSH);
        bytes.remove_prefix(piece.size());
    }
}

Result<void> GzipSink::finish() {
    if (result_) {
        deflate({}, Z_FINISH);
    }
    return result_;
}

void GzipSink::deflate(std::string_view bytes, int flush) {
    // zlib takes no const before version 2, and does not write to its input.
    stream_->next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT(*-const-cast)
    stream_->avail_in = static_cast<uInt>(bytes.size());
    do {
        stream_->next_out = reinterpret_cast<Bytef*>(compressed_.data());
        stream_->avail_out = static_cast<uInt>(compressed_.size());
        ::deflate(stream_.get(), flush);
        result_ = sink_({compressed_.data(), compressed_.size() - stream_->avail_out});
    } while (result_ && stream_->avail_out == 0);
}

}  // namespace sample::exports
