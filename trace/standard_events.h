// The events that other people's readers of the container look for: they show the session, its
// threads and its modules by them. All that they say is in our own events, too.
#pragma once

#include "trace/event_writer.h"
#include "trace/instrumentation.h"
#include "trace/packet_writer.h"
#include "trace/records.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::trace {

/// The same session gives the same id, so that a recording's bytes depend on nothing but its
/// records. Different salts give different ids.
[[nodiscard]] Guid make_guid(const SessionStart& session, std::uint64_t salt);

/// What is declared of them.
[[nodiscard]] std::span<const EventSpec> standard_events();

/// Writes the standard events that belong beside a record of ours. Ids were checked by the caller.
class StandardEvents {
public:
    explicit StandardEvents(EventWriter& events) noexcept : events_{events} {}

    void beside(const SessionStart& session);
    void beside(const Thread& thread);
    void beside(const ThreadName& name);
    /// Declared by the caller: ThreadGroupBeginEvent and ThreadGroupEndEvent.
    void beside(const ThreadGroup& group);
    void beside(const Module& module) { modules_.push_back(module); }
    void beside(const ModuleLoad& load);
    template <class Record>
    void beside(const Record& /*record*/) {}

private:
    struct ThreadNames {
        std::uint32_t tid = 0;
        std::string name = {};
        std::string group = {};
    };

    void name_thread(ThreadId id);

    EventWriter& events_;
    std::vector<ThreadNames> threads_;  ///< By ThreadId - 1.
    std::vector<Module> modules_;       ///< By id - 1.
};

}  // namespace sample::trace
