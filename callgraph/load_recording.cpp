#include "callgraph/load_recording.h"

#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "trace/recording_reader.h"

#include <utility>

namespace sample::callgraph {

Result<Recording> load_recording(const std::string& path, Times times) {
    const MappedReading reading;
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file) {
        return unexpected(file.error());
    }
    Recording recording;
    if (times == Times::kept) {
        recording.keep_times();
    }
    Result<trace::ReadOutcome> outcome = trace::read_recording(
        file->bytes(), recording,
        [&](trace::Attachment&& attachment) { recording.add(std::move(attachment)); });
    if (reading.is_broken()) {
        return unexpected(MappedReading::broken(path));
    }
    if (!outcome) {
        Error error = outcome.error();
        error.context = path + ": " + error.context;
        return unexpected(std::move(error));
    }
    recording.set_read_outcome(std::move(outcome->problem), outcome->unknown_events,
                               std::move(outcome->attachments_problem));
    return recording;
}

}  // namespace sample::callgraph
