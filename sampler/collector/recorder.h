// Where a session's records begin: gives out ids, and hands records to the session's sink.
//
// The recording begins when the first process has an event (only then is the source known), and
// modules are shared by all processes that map the same file. Not thread-safe: the session's loop
// alone uses it.
#pragma once

#include "core/fd.h"
#include "core/file_rights.h"
#include "core/result.h"
#include "sampler/capture/shared_area.h"
#include "sampler/collector/code/perf_map_place.h"
#include "sampler/collector/instrumentation/said_names.h"
#include "sampler/collector/process/handler_histogram.h"
#include "sampler/collector/process/tick_clock.h"
#include "trace/node_table.h"
#include "trace/record_sink.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sample::collector {

/// What a session holds at most, whatever its processes do: it is all memory of ours. What comes
/// beyond is counted, and the recording says so. docs/sampling.md has the table.
inline constexpr std::uint32_t kMostNodes = 1U << 22U;
inline constexpr std::uint32_t kMostModules = 1U << 16U;
inline constexpr std::size_t kMostModuleBytes = std::size_t{32} << 20U;  ///< Of their names.
inline constexpr std::uint32_t kMostThreads = 1U << 19U;
inline constexpr std::size_t kMostFiles = 2048;
inline constexpr std::size_t kMostNotes = 16;

/// What came when there was no room for it any more.
struct Beyond {
    std::uint64_t stacks = 0;
    std::uint64_t modules = 0;
    std::uint64_t threads = 0;
    std::uint64_t slotless = 0;  ///< Threads that a process could not sample, beside its others.
    std::uint64_t files = 0;
    std::uint64_t damaged = 0;  ///< Pieces of a shared area that made no sense.
    std::uint64_t zones = 0;    ///< That programs wanted to record,
    std::uint64_t said = 0;     ///< and other things that they wanted to say.
    std::uint64_t notes = 0;
};

/// Which file it is, and as it was when it was changed last; all 0: that is not known.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;
    auto operator<=>(const FileIdentity&) const = default;  // NOLINT(modernize-use-nullptr)
};
[[nodiscard]] FileIdentity identity_of(const Fd& file);
[[nodiscard]] FileIdentity identity_at(const char* path, int folder = AT_FDCWD);

/// Pseudo modules, in the order of their ids.
enum class Pseudo : std::uint8_t {
    not_sampled,
    before_start,
    kernel_unseen,
    stack_incomplete,
    stack_truncated,
    frames_elided,
    unknown_code,
    waits_for_processor,
    wait_not_seen,
    too_many_threads,
    ring_worker,
};
inline constexpr std::size_t kPseudoCount = 11;

class Recorder {
public:
    /// `sink` outlives it.
    Recorder(trace::RecordSink& sink, trace::SessionStart session)
        : sink_{sink}, session_{std::move(session)}, names_{sink} {}

    /// Records the session's start, once; later calls do nothing. `source` is the first process's.
    void begin(const std::string& source, const std::string& source_reason);
    /// What begin() was told.
    [[nodiscard]] const std::string& source() const { return session_.source; }

    /// For a session that begins later than its processes: no weights before begin_sampling().
    void hold_back() { sampling_since_ns_ = kNotYet; }
    void begin_sampling(std::uint64_t time_ns) { sampling_since_ns_ = time_ns; }
    [[nodiscard]] bool has_begun_sampling() const { return sampling_since_ns_ != kNotYet; }
    /// The most that one thread can weigh by `time_ns`; 0: that was before the sampling began.
    [[nodiscard]] std::uint64_t most_of_thread(std::uint64_t time_ns) const;
    /// What processes weighed before.
    void add_earlier(std::uint64_t weight) { earlier_ += weight; }
    [[nodiscard]] std::uint64_t earlier() const { return earlier_; }
    /// The time of the record of something that may have happened before the session's start.
    [[nodiscard]] std::uint64_t not_before_start(std::uint64_t time_ns) const {
        return std::max(time_ns, session_.start_ns);
    }

    ProcessId add_process(trace::Process process);
    ThreadId add_thread(trace::Thread thread);
    [[nodiscard]] bool has_room_for_threads() const { return next_thread_ <= kMostThreads; }
    /// The id of a file of code; the same for the same path, build-id, flag and, where there is no
    /// build-id, file; unknown code's where there is no room. Its files are to be read as whom this
    /// thread acts as (ActingAs), or as ourselves once that was so.
    ModuleId module(const trace::Module& module, const FileIdentity& file = {});
    /// The id that such a module has already; none if it has none.
    [[nodiscard]] ModuleId known_module(const trace::Module& module,
                                        const FileIdentity& file = {}) const;
    /// The id of a module that is nobody else's, whatever its path.
    ModuleId own_module(trace::Module module);
    /// As whom else than ourselves to read a module's files.
    [[nodiscard]] const std::map<ModuleId, std::shared_ptr<const FileRights>>& readers() const {
        return readers_;
    }
    [[nodiscard]] ModuleId pseudo(Pseudo which) const;
    /// The running kernel, whose addresses lack their two highest bits. Hot.
    ModuleId kernel();
    /// The node of a pseudo module under `parent`. Hot.
    NodeId pseudo_node(Pseudo which, NodeId parent, std::uint64_t address = 0);
    /// Records what was measured without a stack, if it is anything.
    void book(ThreadId thread, std::uint64_t time_ns, Pseudo what, std::uint64_t weight);
    /// The node below `parent`; none if it is new and there is no room. Hot.
    NodeId node(NodeId parent, ModuleId module, std::uint64_t address);

    /// True a few times for each module, until it is kept, as long as there is room for more files.
    bool wants_file(ModuleId module);
    /// Where a module can be read once the process and its files are gone. The first file counts.
    void keep_file(ModuleId module, Fd file);
    /// The same for a file that may change: keeps what it has now, up to a limit of all copies
    /// together, then the file itself.
    void keep_copy(ModuleId module, const Fd& file) { keep_copy(module, {}, &file); }
    /// Keeps `parts`, one behind the other, and behind them what `last`, which may be nullptr, has.
    void keep_copy(ModuleId module, std::span<const FilePart> parts, const Fd* last);
    /// What ran cannot be told from another build that may lie at its path: nothing is read there.
    void lose_file(ModuleId module) { lost_files_.insert(module); }
    [[nodiscard]] const std::map<ModuleId, Fd>& kept_files() const { return kept_files_; }
    /// Paths under which modules can be read whose own files may be gone or have changed: as long
    /// as this lives. Empty: what ran can be read nowhere any more.
    [[nodiscard]] std::map<ModuleId, std::string> module_files() const;

    /// A line that a person should see with the recording. Said once.
    void add_note(const std::string& line);
    /// Those lines, and what there was no room for.
    [[nodiscard]] std::vector<std::string> notes() const;
    [[nodiscard]] Beyond& beyond() { return beyond_; }
    /// What is said is called. After begin().
    [[nodiscard]] SaidNames& names() { return names_; }
    /// How long the processes' samples took, in ticks.
    [[nodiscard]] HandlerHistogram& handler_times() { return handler_times_; }

    /// For records whose ids are known. After begin().
    [[nodiscard]] trace::RecordSink& sink() { return sink_; }
    [[nodiscard]] bool has_begun() const { return has_begun_; }
    [[nodiscard]] std::uint32_t nodes() const { return nodes_.size(); }

    void flush(trace::FlushMode mode);
    Result<void> finish(const trace::SessionEnd& end);
    /// The first failure to write, if any.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

private:
    bool has_room_for(const trace::Module& module);
    bool has_room_for_file();
    void note_reader(ModuleId module);

    NodeId intern(NodeId parent, ModuleId module, std::uint64_t address);

    static constexpr std::uint64_t kNotYet = ~std::uint64_t{0};

    trace::RecordSink& sink_;
    trace::SessionStart session_;
    SaidNames names_;
    std::uint64_t sampling_since_ns_ = 0;  ///< 0: there were weights ever since.
    std::uint64_t earlier_ = 0;
    trace::NodeTable nodes_;
    bool has_begun_ = false;
    std::optional<Error> failure_;
    std::uint32_t next_process_ = 1;
    std::uint32_t next_thread_ = 1;
    using ModuleKey = std::tuple<std::string, std::vector<std::uint8_t>, FileIdentity>;
    static ModuleKey key_of(const trace::Module& module, const FileIdentity& file);
    std::map<ModuleKey, ModuleId> modules_[2];
    std::uint32_t next_module_ = 1;
    std::optional<ModuleId> kernel_;
    std::size_t module_bytes_ = 0;
    std::map<ModuleId, std::shared_ptr<const FileRights>> readers_;
    std::vector<std::shared_ptr<const FileRights>> rights_;  ///< All that are in it.
    std::map<ModuleId, Fd> kept_files_;
    struct FileWithoutId {
        std::string path;
        FileIdentity identity;
    };
    std::map<ModuleId, FileWithoutId> without_id_;
    std::set<ModuleId> lost_files_;
    std::vector<std::uint8_t> asked_files_;  ///< How often, by id.
    std::set<ModuleId> copies_;
    std::uint64_t copied_bytes_ = 0;
    std::vector<std::string> notes_;
    Beyond beyond_;
    HandlerHistogram handler_times_{};
};

}  // namespace sample::collector
