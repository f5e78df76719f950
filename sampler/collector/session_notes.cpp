#include "sampler/collector/session_notes.h"

#include "core/text.h"
#include "sampler/collector/process/proc_files.h"

namespace sample::collector {
namespace {

/// "name (pid)"; by its file, if it is gone.
std::string describe_process(pid_t pid, std::string_view executable = {}) {
    const std::string name = thread_name_of(pid, pid);
    return (name.empty() ? std::string{file_name(executable)} : name) + " (" + std::to_string(pid) +
           ")";
}

/// What became of a process that confined itself, behind its name.
const char* describe_confinement(capture::Confinement confinement) {
    switch (confinement) {
        case capture::Confinement::none:
            break;
        case capture::Confinement::children_left_out:
            return " confined itself by seccomp to too few system calls for its children to join; "
                   "they are not in the recording";
        case capture::Confinement::unwatched:
            return " gave up rights, or its root directory, in a way that the sampling thread "
                   "could not follow; it was not watched from then on";
        case capture::Confinement::stopped:
            return " confined itself by seccomp to too few system calls for sampling, and was not "
                   "sampled from then on";
        case capture::Confinement::no_ticks:
            return " forbade itself to read the time stamp counter, and was not sampled from then "
                   "on";
        case capture::Confinement::traced:
            return " had itself traced by its parent, which each sample would have stopped it for, "
                   "and was not sampled from then on";
        case capture::Confinement::dispatches:
            return " takes a thread's system calls itself (PR_SET_SYSCALL_USER_DISPATCH), those of "
                   "samples, too, and was not sampled from then on";
    }
    return " confined itself";
}

void append(std::string& list, const char* separator, std::string_view item) {
    list += list.empty() ? "" : separator;
    list += item;
}

}  // namespace

void SessionNotes::confined(pid_t pid, std::string_view executable, capture::Confinement how) {
    if (how != capture::Confinement::none && ++confined_ <= kMostNamed) {
        append(confined_names_, "; ",
               describe_process(pid, executable) + describe_confinement(how));
    }
}

void SessionNotes::left_running(pid_t pid) {
    if (++left_ <= kMostNamed) {
        append(left_names_, ", ", describe_process(pid));
    }
}

void SessionNotes::add(std::string_view line) {
    if (!line.empty()) {
        append(lines_, "\n", line);
    }
}

void SessionNotes::add(std::uint64_t count, std::string_view line) {
    if (count != 0) {
        add(std::to_string(count).append(line));
    }
}

std::string SessionNotes::text(bool root_ended) const {
    SessionNotes all;
    if (left_ != 0 && root_ended) {
        all.add("still running when the command ended, recorded until then: " + left_names_ +
                (left_ > kMostNamed ? ", …" : ""));
    }
    all.add(confined_names_);
    all.add(confined_ > kMostNamed ? confined_ - kMostNamed : 0,
            " more processes confined themselves by seccomp");
    all.add(waits_hidden_,
            std::string{waits_hidden_ == 1 ? " process has" : " processes have"} +
                " given up the user that started it, or will not be dumped, so where its threads "
                "slept is not told ([waiting, stack not seen]): `sample` started as the user that "
                "it runs as sees that, and so does root's sample attach --off-cpu");
    if (was_traced_) {
        all.add(
            "not sampled while a debugger or tracer was attached, which would have stopped at "
            "each sample: with one that is not profiled itself, --source perf or thread goes "
            "on");
    }
    all.add(handed_over_, handed_over_ == 1
                              ? " process was in the kernel often, where events may not see it "
                                "(kernel.perf_event_paranoid is 2): a thread inside it took over"
                              : " processes were in the kernel often, where events may not see "
                                "them (kernel.perf_event_paranoid is 2): a thread inside each "
                                "took over");
    all.add(kept_frequency_, kept_frequency_ == 1
                                 ? " time the events of a process could not be changed to another "
                                   "frequency: it kept the one before"
                                 : " times the events of a process could not be changed to another "
                                   "frequency: it kept the one before");
    all.add(kept_channels_,
            std::string{kept_channels_ == 1 ? " time" : " times"} +
                " the memory of a process could not be written to: it kept its channels");
    all.add(lines_);
    return all.lines_;
}

}  // namespace sample::collector
