#include "analysis/name_recording.h"

#include "analysis/kept_code.h"
#include "analysis/load_profile.h"
#include "core/regular_file.h"
#include "trace/attachments.h"

#include <fcntl.h>

#include <iterator>
#include <utility>
#include <vector>

namespace sample::analysis {

Result<NamedRecording> name_recording(const std::string& file, const NamingOptions& options,
                                      callgraph::Times times) {
    Result<callgraph::Recording> recording = load_recording_file(file, times);
    if (!recording) {
        return unexpected(recording.error());
    }
    RecordingSymbols symbols = symbolize_recording(*recording, options);
    NamedRecording named{std::move(*recording), std::move(symbols), options};
    named.how.cache = nullptr;
    return named;
}

Result<void> keep_names(const std::string& file, const NamedRecording& named, bool with_code) {
    if (!named.recording.end()) {
        return {};  // Cut off: it says so itself.
    }
    std::vector<trace::Attachment> kept_parts = attachments_of(named.recording, named.symbols);
    if (with_code) {
        auto code = attachments_of(gather_code(named.recording, named.symbols.symbols, named.how));
        std::move(code.begin(), code.end(), std::back_inserter(kept_parts));
    }
    Fd recording = open_regular(file, O_WRONLY);
    Result<void> kept = recording.is_open()
                            ? trace::append_attachments(std::move(recording), kept_parts)
                            : Result<void>{unexpected(Error::from_errno("cannot open it"))};
    if (!kept) {
        return unexpected(ErrorCode::system,
                          "the names of functions are not kept in " + file + " (" +
                              kept.error().message() +
                              "): look at it on this machine, where the programs are");
    }
    return kept;
}

}  // namespace sample::analysis
