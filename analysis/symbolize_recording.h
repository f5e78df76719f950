// The names of all addresses of a recording: those that it carries, and for the rest what this
// machine's files say; and how a recording that was just made is given its names to carry.
#pragma once

#include "callgraph/load_recording.h"
#include "callgraph/recording.h"
#include "core/file_rights.h"
#include "core/result.h"
#include "core/symbols.h"
#include "symbolize/cache/symbol_cache.h"
#include "symbolize/symbolizer.h"
#include "trace/attachments.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sample::analysis {

/// As collector::Recorder::module_files() gives them: empty where what ran is nowhere any more.
using ModuleFiles = std::map<ModuleId, std::string>;
/// As collector::Recorder::readers() gives them.
using ModuleReaders = std::map<ModuleId, std::shared_ptr<const FileRights>>;

/// Where whoever looks at a recording wants its names from.
struct NameSources {
    bool resymbolize = false;   ///< This machine's files alone, not the recording.
    bool use_cache = true;      ///< Names that were found before.
    bool asks_servers = false;  ///< Those of DEBUGINFOD_URLS, too, for names anew.
    std::vector<std::string> debug_folders = {};  ///< Where separate debug files are, too.

    /// Whether names other than those of the file are wanted.
    [[nodiscard]] bool asks_anew() const {
        return resymbolize || asks_servers || !debug_folders.empty();
    }
};

struct NamingOptions {
    bool from_recording = true;  ///< Else the names that it carries are not looked at.
    ModuleFiles files = {};      ///< Under which path else a module can be read.
    /// Where separate debug files are, too: before the usual folder.
    std::vector<std::string> debug_folders = {};
    /// Names that were found before; nullptr: none are kept.
    symbolize::SymbolCache* cache = nullptr;
    ModuleReaders readers = {};  ///< As whom else than ourselves files of a module are read.
    bool asks_servers = false;   ///< As symbolize::Options has it.

    [[nodiscard]] std::shared_ptr<const FileRights> reader_of(ModuleId module) const {
        const auto reader = readers.find(module);
        return reader == readers.end() ? nullptr : reader->second;
    }
};

/// Where it makes symbolize/ look.
[[nodiscard]] symbolize::Options places_of(const NamingOptions& naming);

/// Where a module can be read, by its recorded path or another one that `files` knows.
[[nodiscard]] symbolize::ModuleIdentity module_identity(const trace::Module& module,
                                                        const ModuleFiles& files);

/// Without module files. `cache` is user_cache() of the same.
[[nodiscard]] NamingOptions naming_from(const NameSources& sources, symbolize::SymbolCache* cache);

struct RecordingSymbols {
    Symbols symbols;                    ///< By index into Recording::addresses().
    std::vector<std::string> problems;  ///< One line a module whose names are missing or poor.
    /// Of modules that could not be read at all: what they are called is no knowledge.
    std::vector<ModuleId> unread = {};
};

/// Symbolizes module by module, the ones with most addresses first, two at a time.
[[nodiscard]] RecordingSymbols symbolize_recording(const callgraph::Recording& recording,
                                                   const NamingOptions& options = {});

/// The names as what the recording can carry: an attachment for each module that was read.
[[nodiscard]] std::vector<trace::Attachment> attachments_of(const callgraph::Recording& recording,
                                                            const RecordingSymbols& symbols);

/// The user's cache of names. nullptr if it is not wanted: neither by the option, `use_cache`, nor
/// by SAMPLE_CACHE, which off, 0, no and false turn off; or if it can't be used.
[[nodiscard]] std::unique_ptr<symbolize::SymbolCache> user_cache(bool use_cache);
/// None where servers are asked: it may say that nobody had what they have.
[[nodiscard]] std::unique_ptr<symbolize::SymbolCache> user_cache(const NameSources& sources);

struct NamedRecording {
    callgraph::Recording recording;
    RecordingSymbols symbols;
};

/// Reads `file`, a recording that was just written, and names its addresses. Errors: those of
/// load_recording_file().
[[nodiscard]] Result<NamedRecording> name_recording(const std::string& file,
                                                    const NamingOptions& options,
                                                    callgraph::Times times);
/// The same of one that was read.
[[nodiscard]] NamedRecording name_recording(callgraph::Recording recording,
                                            const NamingOptions& options);

/// Adds the names to the recording, called `name`, if it was opened to be written to, and the
/// hottest code and its sources from where `code_from` says (nullptr: none), so that it can be read
/// on another machine. Errors say that they are missing in it; the recording is as it was.
[[nodiscard]] Result<void> keep_names(Result<Fd> recording, const std::string& name,
                                      const NamedRecording& named, const NamingOptions* code_from);

}  // namespace sample::analysis
