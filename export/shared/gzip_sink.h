// Gzip in front of a sink.
//
// The level is low because time counts more than bytes here: stacks repeat each other in long
// pieces, which the fastest level finds as well.
#pragma once

#include "core/result.h"
#include "export/shared/writer.h"

#include <memory>
#include <string_view>
#include <vector>

struct z_stream_s;

namespace sample::exports {

/// One gzip member; the first failure, of zlib or of the sink, is kept and everything after it is
/// dropped. The sink must outlive this. Source: RFC 1952; zlib.h.
class GzipSink {
public:
    explicit GzipSink(const Sink& sink);
    ~GzipSink();
    GzipSink(const GzipSink&) = delete;
    GzipSink& operator=(const GzipSink&) = delete;

    void write(std::string_view bytes);

    /// False once something has failed.
    [[nodiscard]] bool is_good() const { return result_.has_value(); }
    /// Ends the member; nothing may be written behind it. The first failure, if there was one.
    [[nodiscard]] Result<void> finish();

private:
    void deflate(std::string_view bytes, int flush);

    const Sink& sink_;
    std::unique_ptr<z_stream_s> stream_;
    std::vector<char> compressed_;
    Result<void> result_;
};

}  // namespace sample::exports
