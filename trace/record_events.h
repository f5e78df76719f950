// Turns plain records into events: all but nodes and samples, which travel in batches.
//
// Beside our own events it writes the standard ones that say the same, so that other people's
// readers show the session, its threads and its modules.
#pragma once

#include "trace/event_encoder.h"
#include "trace/event_writer.h"
#include "trace/packet_writer.h"
#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

/// The same session gives the same id, so that a recording's bytes depend on nothing but its
/// records. Different salts give different ids.
[[nodiscard]] Guid make_guid(const SessionStart& session, std::uint64_t salt);

/// Each call adds events to the EventWriter. Ids were checked by the caller.
class RecordEvents {
public:
    explicit RecordEvents(EventWriter& events) noexcept : events_{events} {}

    void session(const SessionStart& session);
    void session_end(const SessionEnd& end);
    void process(const Process& process);
    void process_end(const ProcessEnd& end);
    void unprofiled(const UnprofiledProgram& program);
    void thread(const Thread& thread);
    /// `tid` is the thread's.
    void thread_name(const ThreadName& name, std::uint32_t tid);
    void module(const Module& module);
    void module_load(const ModuleLoad& load);

private:
    struct ModuleFile {
        std::string path;
        std::vector<std::uint8_t> build_id;
    };

    EventEncoder begin(const EventSpec& spec);
    void add(const EventSpec& spec) { events_.add(spec, scratch_); }
    void standard_session(const SessionStart& session, std::string_view command_line);
    void standard_thread_info(std::uint32_t id, std::uint32_t tid, std::string_view name);
    void standard_module_load(const ModuleLoad& load);

    EventWriter& events_;
    std::vector<ModuleFile> modules_;  ///< By id - 1.
    std::vector<std::byte> scratch_;
};

}  // namespace sample::trace
