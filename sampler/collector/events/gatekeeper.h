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
#include "sampler/control/control_word.h"

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sample::collector {

class AreaMapping;

class Gatekeeper {
public:
    /// `on_finish` is called, from the gatekeeper's thread, when a process that may asks for the
    /// session's end; `on_request`, from any, when one asks for something else: see
    /// take_requests().
    static Result<std::unique_ptr<Gatekeeper>> start(std::function<void()> on_finish,
                                                     std::function<void()> on_request = {});
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
    /// Closes the events of an image; it has these instead from now on. What the old ones have said
    /// is kept.
    /// `between`: called when no old one can expire any more, and no new one yet.
    void replace(const AreaMapping& image, std::vector<Fd> events,
                 const std::function<void()>& between = {});
    /// As replace(), where each event is one thread's alone and may stay: with another period.
    void change_period(const AreaMapping& image, std::uint64_t period,
                       const std::function<void()>& between);
    /// The events of all off, whatever their gates say, or as those say.
    void set_sampling(bool is_on);
    struct Request {
        std::shared_ptr<AreaMapping> from;
        control::ControlWord word;
    };
    /// What processes ask for and acknowledge() has not answered yet.
    [[nodiscard]] std::vector<Request> take_requests();
    /// It is carried out: who waits for that goes on.
    static void acknowledge(const Request& request);
    /// Lets an event of the thread `tid` expire once, unless its events are off now: then, and when
    /// they go off before, it is closed. False: it was. No other is there for the thread.
    bool add_one_shot(const AreaMapping& image, pid_t tid, Fd event);
    void remove_one_shot(const AreaMapping& image, pid_t tid);
    /// What that event has counted; nothing: it has been closed.
    [[nodiscard]] std::optional<std::uint64_t> one_shot_count(const AreaMapping& image, pid_t tid);
    /// Closes the events of threads that have ended: each is a descriptor. Now and then.
    void close_ended_events();
    /// The events of an image off, whatever its gate says, or (`held` false) as that says. Returns
    /// whether this changed.
    bool hold(const AreaMapping& image, bool held);
    /// The process `tracer` of the session is about to trace the process `pid`: holds its latest
    /// image. No release is heeded before the tracer's call has ended.
    void hold_for_tracer(pid_t pid, pid_t tracer);
    /// What the events of an image have said so far, together.
    EventTimes read(const AreaMapping& image);
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
        std::map<pid_t, Fd> one_shots;
        bool open = true;
        bool held = false;
        std::shared_ptr<AreaMapping> awaited_tracer;  ///< It may still be about to attach.
        EventTimes ended;                             ///< Of the events that are closed.
    };

    Gatekeeper(Fd page_fd, capture::SessionPage* page, std::function<void()> on_finish,
               std::function<void()> on_request);
    void run();
    void answer(Entry& entry);
    static void switch_events(const Entry& entry, unsigned long request);
    static void open_or_shut(Entry& entry, bool open);
    void switch_if_needed(Entry& entry) const;
    static EventTimes read_events(const Entry& entry);
    [[nodiscard]] Entry* find(const AreaMapping& image);
    [[nodiscard]] Entry* find_latest(pid_t pid);
    void wake();

    Fd page_fd_;
    capture::SessionPage* page_;
    std::function<void()> on_finish_;
    std::function<void()> on_request_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::list<Entry> entries_;  // guarded by mutex_
    bool samples_ = true;       // guarded by mutex_
    std::thread thread_;
};

}  // namespace sample::collector
