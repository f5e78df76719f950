#include "callgraph/load_recording.h"

#include "core/mapped_reading.h"
#include "trace/recording_reader.h"

#include <cstddef>
#include <span>
#include <utility>

namespace sample::callgraph {

Result<Recording> load_recording(const std::string& path, Times times) {
    SAMPLE_TRY(file, MappedFile::open(path));
    return load_recording(file, path, times);
}

Result<Recording> load_recording(const MappedFile& file, const std::string& name, Times times,
                                 trace::RecordSink* also) {
    const MappedReading reading;
    Recording recording;
    if (times == Times::kept) {
        recording.keep_times();
    }
    trace::Tee both{{&recording, also}};
    trace::RecordSink& sink = also == nullptr ? static_cast<trace::RecordSink&>(recording) : both;
    Result<trace::ReadOutcome> outcome = trace::read_recording(
        file.bytes(), sink,
        [&](trace::Attachment&& attachment) { recording.add(std::move(attachment)); },
        [&](std::span<const std::byte> passed) { file.give_back(passed); });
    if (reading.is_broken()) {
        return unexpected(MappedReading::broken(name));
    }
    if (!outcome) {
        Error error = outcome.error();
        error.context = name + ": " + error.context;
        return unexpected(std::move(error));
    }
    recording.set_read_outcome(std::move(outcome).value());
    return recording;
}

}  // namespace sample::callgraph
