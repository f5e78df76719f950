#include "analysis/sampled_tracks.h"

#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "export/shared/functions.h"
#include "export/shared/stack_changes.h"
#include "export/shared/tracks.h"
#include "trace/attachments.h"
#include "trace/recording_reader.h"
#include "trace/recording_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sample::analysis {
namespace {

/// Hands everything on to a writer; the ends of processes and of the session only when asked, as
/// the sampled threads come before them.
class Copy final : public trace::RecordSink {
public:
    explicit Copy(trace::RecordingWriter& writer) : writer_{writer} {}

    void record(const trace::Record& record) override;
    void node(const trace::StackNode& node) override { writer_.node(node); }
    void sample(const trace::Sample& sample) override {
        writer_.sample(sample);
        pause();
    }
    void zone(const trace::ZoneEdge& edge) override {
        writer_.zone(edge);
        pause();
    }
    void instrumentation(const trace::Instrumentation& said) override;

    /// Behind the last record: a thread for each track of `profile`.
    void add_tracks(const callgraph::Profile& profile);
    void end() {
        for (const trace::Record& record : ends_) {
            writer_.record(record);
        }
    }

private:
    /// Ids as the kernel gave them, and the start since the session's: behind an exec the ids are
    /// the same.
    struct ThreadKey {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        std::int64_t start_ns = 0;

        auto operator<=>(const ThreadKey&) const = default;
    };

    /// So that what waits in the writer stays little.
    void pause() {
        constexpr std::uint32_t kOften = 1 << 16;
        if (++since_flush_ % kOften == 0) {
            static_cast<void>(writer_.flush());
        }
    }
    ThreadId add_thread(const callgraph::Profile& profile, const exports::Track& track);
    trace::ZoneId zone_of(const callgraph::Profile& profile, NodeId node);
    void change(const callgraph::Profile& profile, const exports::StackChanges& changes,
                ThreadId thread, std::int64_t time_ns);

    trace::RecordingWriter& writer_;
    std::uint32_t since_flush_ = 0;
    std::uint64_t start_ns_ = 0;
    std::uint64_t last_serial_ = 0;
    std::vector<trace::Record> ends_;
    std::vector<std::uint32_t> pids_;              ///< By ProcessId - 1.
    std::vector<trace::Thread> threads_;           ///< By ThreadId - 1.
    std::map<std::uint32_t, std::string> groups_;  ///< By ThreadId.
    /// Those that have no track yet, the latest first.
    std::map<ThreadKey, std::vector<ThreadId>> trackless_;
    std::uint32_t zones_ = 0;
    std::vector<std::string> names_;       ///< By function.
    std::vector<trace::ZoneId> zone_ids_;  ///< By function; the last is of what has no stack.
};

void Copy::record(const trace::Record& record) {
    if (const auto* const session = std::get_if<trace::SessionStart>(&record)) {
        start_ns_ = session->start_ns;
    } else if (const auto* const process = std::get_if<trace::Process>(&record)) {
        pids_.push_back(process->pid);
    } else if (const auto* const thread = std::get_if<trace::Thread>(&record)) {
        threads_.push_back(*thread);
    } else if (const auto* const name = std::get_if<trace::ThreadName>(&record)) {
        threads_[name->id.value - 1].name = name->name;
    } else if (std::holds_alternative<trace::ProcessEnd>(record) ||
               std::holds_alternative<trace::SessionEnd>(record)) {
        ends_.push_back(record);
        return;
    }
    writer_.record(record);
}

void Copy::instrumentation(const trace::Instrumentation& said) {
    if (const auto* const event = std::get_if<trace::RaisedEvent>(&said);
        event != nullptr && event->serial != 0) {
        // They come in their order; of the number itself the file has 24 bits.
        trace::RaisedEvent numbered = *event;
        numbered.serial = ++last_serial_;
        writer_.instrumentation(numbered);
        pause();
        return;
    }
    if (const auto* const zone = std::get_if<trace::ZoneSpec>(&said)) {
        zones_ = zone->id.value;
    } else if (const auto* const group = std::get_if<trace::ThreadGroup>(&said)) {
        groups_[group->thread.value] = group->name;
    }
    writer_.instrumentation(said);
    pause();
}

ThreadId Copy::add_thread(const callgraph::Profile& profile, const exports::Track& track) {
    const auto found =
        trackless_.find({track.pid, track.tid, profile.threads[*track.thread].start_ns});
    if (found == trackless_.end() || found->second.empty()) {
        return {};
    }
    const ThreadId sampled = found->second.back();
    found->second.pop_back();
    trace::Thread thread = threads_[sampled.value - 1];
    thread.id = ThreadId{static_cast<std::uint32_t>(threads_.size()) + 1};
    thread.name = (track.name.empty() ? std::to_string(track.tid) : track.name) + kSampledMark;
    threads_.push_back(thread);
    writer_.record(thread);
    if (const auto group = groups_.find(sampled.value); group != groups_.end()) {
        writer_.instrumentation(trace::ThreadGroup{thread.id, group->second});
    }
    return thread.id;
}

trace::ZoneId Copy::zone_of(const callgraph::Profile& profile, NodeId node) {
    const std::size_t index = exports::function_index(profile, node);
    trace::ZoneId& id = zone_ids_[index];
    if (id.is_none()) {
        trace::ZoneSpec spec;
        spec.id = id = trace::ZoneId{++zones_};
        spec.category = kSampledCategory;
        spec.name = exports::kNoStack;
        if (index < profile.functions.size()) {
            const callgraph::Function& function = profile.functions[index];
            spec.name = names_[index];
            spec.file = exports::source_file(profile, function);
            spec.line = function.line;
        }
        writer_.instrumentation(spec);
    }
    return id;
}

void Copy::change(const callgraph::Profile& profile, const exports::StackChanges& changes,
                  ThreadId thread, std::int64_t time_ns) {
    trace::ZoneEdge edge;
    edge.thread = thread;
    // Of a session that begins within nanoseconds of the machine's start.
    edge.time_ns = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, static_cast<std::int64_t>(start_ns_) + time_ns));
    edge.kind = trace::EdgeKind::end;
    for (std::size_t i = 0; i < changes.closed().size(); ++i) {
        zone(edge);
    }
    edge.kind = trace::EdgeKind::begin;
    for (const NodeId node : changes.opened()) {
        edge.zone = zone_of(profile, node);
        zone(edge);
    }
}

void Copy::add_tracks(const callgraph::Profile& profile) {
    for (std::size_t i = threads_.size(); i-- > 0;) {
        const trace::Thread& thread = threads_[i];
        trackless_[{pids_[thread.process.value - 1], thread.tid,
                    static_cast<std::int64_t>(thread.start_ns - start_ns_)}]
            .push_back(thread.id);
    }
    names_ = exports::unique_names(profile);
    zone_ids_.resize(profile.functions.size() + 1);
    const exports::Tracks tracks{profile};
    for (const exports::Track& track : tracks.list()) {
        exports::SliceReader slices = tracks.slices(track);
        exports::Slice slice;
        if (!track.thread || !slices.next(slice)) {
            continue;
        }
        const ThreadId thread = add_thread(profile, track);
        if (thread.is_none()) {
            continue;
        }
        exports::StackChanges changes{profile};
        std::int64_t end = slice.start;
        do {
            if (slice.start != end) {
                changes.close_all();
                change(profile, changes, thread, end);
            }
            changes.move_to(slice.node);
            change(profile, changes, thread, slice.start);
            end = slice.end;
        } while (slices.next(slice));
        changes.close_all();
        change(profile, changes, thread, end);
    }
}

bool is_regular(int file) {
    struct stat info {};
    return ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Result<void> write_sampled_tracks(const std::string& path, const callgraph::Profile& profile,
                                  Fd file) {
    if (profile.stats.samples != 0 && exports::axis_of(profile) != exports::Axis::time) {
        return unexpected(ErrorCode::unsupported,
                          path +
                              ": what was counted, or averaged, is no time and cannot lie along "
                              "one; choose another format");
    }
    const MappedReading reading;
    SAMPLE_TRY(from, MappedFile::open(path));
    Fd written{::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)};
    if (!written.is_open()) {
        return unexpected(Error::from_errno("cannot write a second time to the export"));
    }
    trace::RecordingWriter writer{std::move(file)};
    Copy copy{writer};
    std::vector<trace::Attachment> attachments;
    SAMPLE_TRY(outcome, trace::read_recording(from.bytes(), copy, [&](trace::Attachment&& one) {
                   attachments.push_back(std::move(one));
               }));
    if (reading.is_broken()) {
        return unexpected(MappedReading::broken(path));
    }
    if (outcome.is_foreign || !outcome.whole) {
        return unexpected(ErrorCode::unsupported,
                          outcome.is_foreign
                              ? path +
                                    " has no samples to write beside what it says: it is a file "
                                    "of that format already"
                              : path + " cannot be copied: " + outcome.problem);
    }
    copy.add_tracks(profile);
    copy.end();
    SAMPLE_CHECK(writer.flush(trace::FlushMode::everything));
    return is_regular(written.get()) ? trace::append_attachments(std::move(written), attachments)
                                     : Result<void>{};
}

}  // namespace sample::analysis
