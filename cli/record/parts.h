// `--rotate`, `--keep`, `--max-size`: a recording in parts (trace/recording_parts.h), as files.
//
//   app.utrace is full ─▶ app.0001.utrace ─▶ named, on a thread of ours ─▶ removed in the end
//        └ a new app.utrace
//
// The part that is being written has the recording's own name at any time: the two files exchange
// their names once the new one can be read.
#pragma once

#include "cli/options/options.h"
#include "cli/record/recording.h"
#include "core/fd.h"
#include "core/kernel_clock.h"
#include "core/result.h"
#include "sampler/collector/recorder.h"
#include "trace/recording_parts.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

namespace sample::cli {

class Parts final : public trace::PartFiles {
public:
    /// Nothing if `options` do not ask for it. Signals are blocked already that this thread's
    /// children are not to take. Errors: the recording is no regular file.
    [[nodiscard]] static Result<std::unique_ptr<Parts>> begin(const RecordOptions& options,
                                                              const PreparedRecording& recording);
    ~Parts() override;
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    // Of `parts`, which is nullptr where nobody has asked for it:

    /// What a session is to write to: `recording`'s file, in parts if there are any. `parts`
    /// outlives it.
    [[nodiscard]] static std::unique_ptr<trace::RecordSink> sink(Parts* parts,
                                                                 PreparedRecording& recording);
    /// Opens the part that is being written, to be read. Empty: there are no parts.
    [[nodiscard]] static std::function<Fd()> opener(Parts* parts);
    /// The session has begun, by `recorder`, which outlives finish().
    static void follow(Parts* parts, const collector::Recorder& recorder);
    /// The session has ended: sees to the names of the parts that lack them. `recording` is the
    /// last one from here on; returns where its modules can be read.
    [[nodiscard]] static ModuleSources finish(Parts* parts, PreparedRecording& recording,
                                              const collector::Recorder& recorder);
    /// The last part has its names, too: says where the earlier ones are.
    static void tell(Parts* parts);

private:
    struct Part {
        PreparedRecording recording;
        ModuleSources sources;
        KernelClock::time_point ended = {};
        bool is_named = false;
    };

    Parts(const RecordOptions& options, const PreparedRecording& recording);

    Result<Fd> make_next() override;
    Result<void> put_in_place() override;
    void ended(std::span<const ModuleId> modules) override;
    void trouble(const Error& error) override;

    [[nodiscard]] std::string path_of(std::uint64_t number) const;
    [[nodiscard]] ModuleSources sources(std::span<const ModuleId> modules) const;
    void run();
    [[nodiscard]] std::shared_ptr<Part> next_unnamed() const;
    bool name_next();
    void name(const PreparedRecording& recording, const ModuleSources& sources);
    void remove_old(std::uint64_t current_bytes);

    RecordOptions options_;
    NewRecording current_;
    NewRecording next_;
    std::uint64_t number_ = 0;  ///< Of the file that was numbered last.
    const collector::Recorder* recorder_ = nullptr;
    trace::RecordingParts* sink_ = nullptr;
    bool is_troubled_ = false;

    std::mutex mutex_;  ///< Of what is below.
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Part>> parts_;  ///< That are there, the oldest first.
    std::uint64_t removed_ = 0;
    bool is_over_ = false;
    /// From here on no part gets older.
    std::optional<KernelClock::time_point> session_ended_;
    std::thread thread_;
};

}  // namespace sample::cli
