#include "cli/export_profile.h"

#include "cli/output.h"
#include "export/folded.h"
#include "export/script_profiler_json.h"

namespace sample::cli {

Result<std::string> render_export(const callgraph::Profile& profile, ExportFormat format) {
    std::string text;
    const exports::Sink sink = exports::to_string_sink(text);
    const Result<void> written = format == ExportFormat::json
                                     ? exports::write_script_profiler_json(profile, sink)
                                     : exports::write_folded(profile, sink);
    if (!written) {
        return Unexpected{written.error()};
    }
    return text;
}

Result<void> write_export(const callgraph::Profile& profile, ExportFormat format,
                          const std::string& path, bool force) {
    const Result<std::string> text = render_export(profile, format);
    if (!text) {
        return Unexpected{text.error()};
    }
    return write_file_atomically(path, *text, force);
}

}  // namespace sample::cli
