#include "import/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace sample::imports {

namespace {

Unexpected wrong(ErrorCode code, std::size_t at, std::string_view what) {
    return unexpected(
        code, std::string{"gzip, byte "}.append(std::to_string(at)).append(": ").append(what));
}

}  // namespace

bool is_gzip(std::string_view bytes) {
    return bytes.starts_with("\x1f\x8b");
}

Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    constexpr std::size_t kPiece = std::size_t{256} * 1024;
    constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();
    z_stream stream{};
    if (::inflateInit2(&stream, kGzipOnly) != Z_OK) {
        return unexpected(ErrorCode::system, "no memory to unpack gzip");
    }
    const std::unique_ptr<z_stream, int (*)(z_stream*)> owner{&stream, ::inflateEnd};
    std::string result;
    std::string piece(kPiece, '\0');
    std::string_view rest = bytes;
    while (true) {
        const std::size_t given = std::min(rest.size(), kMostAtOnce);
        // zlib's interface takes no pointer to const, and does not write through it: zlib.h.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
        stream.avail_in = static_cast<uInt>(given);
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        const int status = ::inflate(&stream, Z_NO_FLUSH);
        rest.remove_prefix(given - stream.avail_in);
        const std::size_t at = bytes.size() - rest.size();
        const std::size_t made = piece.size() - stream.avail_out;
        if (made > max_bytes - result.size()) {
            return wrong(ErrorCode::unsupported, at,
                         "unpacks to more than " + std::to_string(max_bytes) +
                             " bytes, which is taken for a bomb: unpack it with gunzip");
        }
        result.append(piece, 0, made);
        if (status == Z_STREAM_END) {
            // Another member may follow; other bytes behind the last one are padding.
            if (!is_gzip(rest)) {
                return result;
            }
            ::inflateReset(&stream);
        } else if (status == Z_BUF_ERROR || (status == Z_OK && made == 0 && rest.empty())) {
            return wrong(ErrorCode::truncated, at, "the end is missing");
        } else if (status != Z_OK) {
            return wrong(ErrorCode::corrupt, at, stream.msg == nullptr ? "damaged" : stream.msg);
        }
    }
}

}  // namespace sample::imports
