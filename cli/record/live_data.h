// `--live`: a session's data, served while it goes on.
//
//   session's loop ─▶ RecordQueue ─▶ LiveRecording ─▶ Profile, each second ─▶ LiveFeed ─▶ clients
//                     a thread of ours: ───────────────────────────────────┘     └ the server's
//
// Data goes one way. Back comes only whether anybody wants it: without a client no profile is made.
#pragma once

#include "analysis/live/live_recording.h"
#include "analysis/live/record_queue.h"
#include "cli/options/options.h"
#include "core/fd.h"
#include "core/kernel_clock.h"
#include "core/result.h"
#include "server/live_server.h"
#include "trace/record_sink.h"

#include <memory>
#include <thread>

namespace sample::cli {

class LiveData {
public:
    /// Nothing if `options` do not ask for it; else says at which address. Signals are blocked
    /// already that this thread's children are not to take. Errors: LiveServer::start()'s.
    [[nodiscard]] static Result<std::unique_ptr<LiveData>> start(const RecordOptions& options);
    /// Clients have a moment to take what they have not yet.
    ~LiveData();
    LiveData(const LiveData&) = delete;
    LiveData& operator=(const LiveData&) = delete;

    // Of `live`, which is nullptr where nobody has asked for it:

    /// The session has ended, or did not begin. Later calls do nothing.
    static void finish(LiveData* live);
    /// What a session is to write to: `file`, and beside it `live`, which outlives the sink.
    [[nodiscard]] static std::unique_ptr<trace::RecordSink> beside(
        LiveData* live, std::unique_ptr<trace::RecordSink> file);

private:
    using Clock = KernelClock;

    LiveData(const RecordOptions& options, std::unique_ptr<server::LiveServer> server,
             std::unique_ptr<analysis::RecordQueue> queue, Fd over);

    void run();
    void watch();
    void take_batches();
    void publish();

    std::unique_ptr<server::LiveServer> server_;
    std::unique_ptr<analysis::RecordQueue> queue_;
    std::unique_ptr<trace::RecordSink> file_;
    analysis::LiveRecording live_;
    Fd over_;  ///< An eventfd: the session has ended.
    Clock::time_point next_;
    std::thread thread_;
};

}  // namespace sample::cli
