// Answers the agents' gates: a thread that sleeps on the session's doorbell and switches a
// process's events off before an exec and on after a failed one.
//
// A thread of its own, because the answer is in an exec's way: the session's loop may be writing to
// a disk. It owns the perf descriptors. See agent/processes/gate.h for the other side. Thread-safe.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/capture/area.h"
#include "sampler/collector/events/throttling.h"

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sample::collector {

class AreaMapping;

class Gatekeeper {
public:
    /// `on_finish` is called, from the gatekeeper's thread, when a process that may asks for the
    /// session's end.
    static Result<std::unique_ptr<Gatekeeper>> start(std::function<void()> on_finish);
    ~Gatekeeper();
    Gatekeeper(const Gatekeeper&) = delete;
    Gatekeeper& operator=(const Gatekeeper&) = delete;

    /// The page to pass to the agents.
    [[nodiscard]] int page_fd() const { return page_fd_.get(); }

    /// The agents may wait for us again. True: they did in vain.
    bool clear_stalled();

    struct Who {
        pid_t pid = 0;
        bool may_finish = false;  ///< Its end is the session's.
    };
    /// Takes the events over and switches them on.
    void add(const Who& who, std::shared_ptr<AreaMapping> mapping, std::vector<Fd> events);
    /// One more event for a process that is known: for its latest image.
    /// It is that of the thread `tid` alone; 0: not known.
    void add_event(pid_t pid, Fd event, pid_t tid);
    /// Closes the events of threads that have ended: each is a descriptor. Now and then.
    void close_ended_events();
    /// The events of an image off, whatever its gate says, or (`held` false) as that says. Returns
    /// whether this changed.
    bool hold(const AreaMapping& image, bool held);
    /// Another process of the session is about to trace this one: holds its latest image, until
    /// hold() has released it more often than the tracer may need to attach.
    void hold_for_tracer(pid_t pid);
    /// Switches the events of an image off and closes them. Returns what they have said, together.
    EventTimes remove(const AreaMapping& image);
    void remove_all();

private:
    struct Event {
        Fd fd;
        pid_t tid = 0;  ///< Whose alone it is; 0: others may have inherited it.
    };
    struct Entry {
        Who who;
        std::shared_ptr<AreaMapping> mapping;
        std::vector<Event> events;
        bool open = true;
        bool held = false;
        int awaited_tracer = 0;  ///< Releases that are not heeded yet.
        EventTimes ended;        ///< Of the events that are closed.
    };

    Gatekeeper(Fd page_fd, capture::SessionPage* page, std::function<void()> on_finish);
    void run();
    void answer(Entry& entry);
    static void switch_events(const Entry& entry, unsigned long request);
    static void switch_if_needed(Entry& entry);
    static EventTimes read_events(const Entry& entry);
    void wake();

    Fd page_fd_;
    capture::SessionPage* page_;
    std::function<void()> on_finish_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::list<Entry> entries_;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace sample::collector
