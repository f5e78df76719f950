#include "sampler/collector/process/live_processes.h"

#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/process_end.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace sample::collector {

void LiveProcesses::set_root(pid_t root) {
    root_ = root;
    root_pidfd_ = Fd{static_cast<int>(::syscall(SYS_pidfd_open, root, 0))};
}

void LiveProcesses::release_root() {
    if (root_mapping_ != nullptr) {
        capture::AreaHeader& header = root_mapping_->area().header;
        header.finish_ack.store(1, std::memory_order_release);
        ::syscall(SYS_futex, &header.finish_ack, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
}

void LiveProcesses::add(ProfiledProcess::Identity identity, std::shared_ptr<AreaMapping> mapping,
                        Fd pidfd) {
    if (identity.pid == root_) {
        root_mapping_ = mapping;
    }
    Live& live = processes_.emplace_back();
    live.pidfd = std::move(pidfd);
    live.mapping = mapping;
    live.process = std::make_unique<ProfiledProcess>(std::move(identity), std::move(mapping),
                                                     around_.recorder, around_.clock);
    live.process->begin();
}

LiveProcesses::Place LiveProcesses::place_of(pid_t pid) {
    return std::find_if(processes_.begin(), processes_.end(),
                        [pid](const Live& live) { return live.process->pid() == pid; });
}

ProfiledProcess* LiveProcesses::find(pid_t pid) {
    const Place place = place_of(pid);
    return place == processes_.end() ? nullptr : place->process.get();
}

std::uint64_t LiveProcesses::replace(pid_t pid, std::optional<std::uint64_t> cpu_ns,
                                     const std::function<void()>& before_end) {
    const Place place = place_of(pid);
    if (place == processes_.end()) {
        return 0;
    }
    if (has_died(pid, place->pidfd.get())) {
        died(place);
        return 0;
    }
    const std::uint64_t said = place->process->said_cpu_ns();
    const std::uint64_t spent = said != 0 && !place->has_left ? said : cpu_ns.value_or(0);
    place->process->take_names();
    before_end();
    end(*place, trace::EndKind::replaced, 0);
    processes_.erase(place);
    return spent;
}

void LiveProcesses::leave(pid_t pid) {
    if (const Place place = place_of(pid); place != processes_.end()) {
        end(*place, trace::EndKind::replaced, 0);
        place->has_left = true;
    }
}

void LiveProcesses::append_to(std::vector<pollfd>& fds) const {
    fds.push_back({root_pidfd_.get(), POLLIN, 0});
    for (const Live& live : processes_) {
        fds.push_back({live.pidfd.get(), POLLIN, 0});
    }
}

void LiveProcesses::take_deaths(const pollfd* polled) {
    root_ended_ = root_ended_ || polled++->revents != 0;
    for (Place at = processes_.begin(); at != processes_.end(); ++polled) {
        at = polled->revents != 0 ? died(at) : std::next(at);
    }
}

void LiveProcesses::bury_the_dead() {
    for (Place at = processes_.begin(); at != processes_.end();) {
        at = has_died(at->process->pid(), at->pidfd.get()) ? died(at) : std::next(at);
    }
    root_ended_ = root_ended_ || has_died(root_, root_pidfd_.get());
}

LiveProcesses::Place LiveProcesses::died(Place place) {
    Live& live = *place;
    const pid_t pid = live.process->pid();
    ProcessFate fate = fate_of(pid, live.pidfd.get());
    const capture::AreaHeader& header = live.mapping->area().header;
    if (fate.kind == trace::EndKind::unknown && header.exit_known.load() != 0) {
        fate = {trace::EndKind::exited, header.exit_status.load()};
    }
    if (header.exit_known.load() == 0 && live.process->said_cpu_ns() != 0) {
        // Its last word was that it execs: what died is a program that said no Hello.
        fate = {trace::EndKind::replaced, 0};
    }
    end(live, fate.kind, fate.code);
    root_ended_ = root_ended_ || pid == root_;
    return processes_.erase(place);
}

void LiveProcesses::end(Live& live, trace::EndKind kind, int code) {
    if (live.has_left) {
        return;  // it has ended
    }
    const pid_t pid = live.process->pid();
    const std::uint64_t said = live.process->said_cpu_ns();
    std::optional<std::uint64_t> cpu;
    if (kind == trace::EndKind::replaced) {
        cpu = said != 0 ? said : process_cpu_ns(pid);
    } else {
        cpu = process_cpu_ns(pid);
        if (!cpu && said != 0) {
            cpu = said;
        }
    }
    // Nobody else waits for the root.
    if (pid != root_ && has_died(pid, live.pidfd.get())) {
        live.process->note_death();
    }
    around_.notes.confined(
        pid, static_cast<capture::Confinement>(live.mapping->area().header.confinement.load()));
    const EventTimes times = around_.gatekeeper.remove(*live.mapping);
    live.process->end(kind, code, cpu, times.counted);
    if (around_.counts_time) {
        around_.throttling.add(times, live.process->samples());
    }
}

void LiveProcesses::drain(bool is_second) {
    for (Live& live : processes_) {
        if (live.has_left) {
            continue;
        }
        live.process->drain();
        if (is_second) {
            live.process->collect_dead_threads();
            live.process->refresh_thread_names();
            live.process->measure_memory();
        }
    }
}

void LiveProcesses::give_way_to_tracers() {
    for (const Live& live : processes_) {
        const bool by_own = live.mapping->area().header.traced.load() != 0;
        bool was_traced = by_own;
        if (live.process->identity().source == "sigtrap" || by_own) {
            const bool traced = is_traced(live.process->pid());
            was_traced = (around_.gatekeeper.hold(*live.mapping, traced) && traced) || was_traced;
        }
        if (was_traced) {
            around_.notes.traced();
        }
    }
}

void LiveProcesses::end_all() {
    for (Live& live : processes_) {
        const pid_t pid = live.process->pid();
        const capture::AreaHeader& header = live.mapping->area().header;
        // A root that waits for us at its exit has said how it ends.
        if (header.exit_known.load() != 0) {
            end(live, trace::EndKind::exited, header.exit_status.load());
            root_ended_ = root_ended_ || pid == root_;
        } else {
            if (pid != root_) {
                around_.notes.left_running(pid);
            }
            end(live, trace::EndKind::still_running, 0);
        }
        live.mapping->area().header.stopped.store(1);
    }
    processes_.clear();
}

}  // namespace sample::collector
