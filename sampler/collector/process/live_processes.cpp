#include "sampler/collector/process/live_processes.h"

#include "sampler/capture/capture.h"
#include "sampler/collector/events/rearming.h"
#include "sampler/collector/process/channel_switch.h"
#include "sampler/collector/process/module_trouble.h"
#include "sampler/collector/process/proc_files.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace sample::collector {
namespace {

/// How a process has ended, behind "the program ".
std::string ending(trace::EndKind kind, int code) {
    switch (kind) {
        case trace::EndKind::signaled: {
            const char* const name = ::sigabbrev_np(code);
            return name == nullptr ? "was ended by signal " + std::to_string(code)
                                   : std::string{"was ended by SIG"} + name;
        }
        case trace::EndKind::exited:
            return "exited with " + std::to_string(code);
        case trace::EndKind::replaced:
            return "became another program";
        case trace::EndKind::still_running:
        case trace::EndKind::unknown:
            break;
    }
    return "went on";
}

}  // namespace

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

void LiveProcesses::add(ProcessIdentity identity, std::shared_ptr<AreaMapping> mapping, Fd pidfd) {
    if (identity.pid == root_) {
        root_mapping_ = mapping;
    }
    if (around_.counts_time() && identity.source == "sigtrap" &&
        mapping->area().header.kernel_excluded.load() == 0) {
        around_.one_shots.watch(identity.pid, identity.same_pid_namespace, mapping);
    }
    Live& live = processes_.emplace_back();
    live.pidfd = std::move(pidfd);
    live.mapping = mapping;
    live.process = std::make_unique<ProfiledProcess>(std::move(identity), std::move(mapping),
                                                     around_.recorder, around_.clock);
    live.mapping->area().header.off.store(around_.pace.is_on.load() ? 0 : 1);
    live.process->begin(around_.pace.is_on.load());
    if (around_.options.has_frequency() &&
        live.mapping->area().header.frequency_hz.load() != around_.pace.frequency_hz.load()) {
        const auto still = around_.one_shots.hold_still();
        apply_frequency(live);  // it has changed since the process was let in
    }
    apply_channels(live);  // the same
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
        around_.unprofiled.left(pid, end(*place, trace::EndKind::replaced, 0));
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
    if (!live.has_left) {
        const std::uint64_t spent = end(live, fate.kind, fate.code);
        if (fate.kind == trace::EndKind::replaced) {
            around_.unprofiled.left(pid, spent);
        } else {
            around_.unprofiled.ended(pid, spent);
        }
    }
    root_ended_ = root_ended_ || pid == root_;
    return processes_.erase(place);
}

std::uint64_t LiveProcesses::end(Live& live, trace::EndKind kind, int code) {
    if (live.has_left) {
        return 0;  // it has ended
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
    const capture::AreaHeader& header = live.mapping->area().header;
    around_.notes.confined(pid, live.process->identity().executable,
                           static_cast<capture::Confinement>(header.confinement.load()));
    if (header.waits_hidden.load() != 0) {
        around_.notes.waits_hidden();
    }
    if (header.traced.load() != 0) {  // since the last look
        around_.notes.traced();
    }
    say_module_trouble(live, kind, code);
    around_.one_shots.forget(*live.mapping);
    const EventTimes times = around_.gatekeeper.remove(*live.mapping);
    live.process->end(kind, code, {cpu, times.counted, live.process->system_ns()});
    if (around_.counts_time()) {
        around_.throttling.add(times, live.process->samples());
    }
    return std::max(cpu.value_or(0), live.process->accounted_cpu_ns());
}

void LiveProcesses::drain(bool is_second) {
    for (Live& live : processes_) {
        if (live.has_left) {
            continue;
        }
        live.process->drain();
        hand_over(live);
        apply_channels(live);
        if (is_second) {
            live.process->collect_dead_threads();
            live.process->refresh_thread_names();
            live.process->measure_memory();
            look_at_module(live);
            live.process->tell_losses();
        }
    }
}

void LiveProcesses::say_module_trouble(const Live& live, trace::EndKind kind, int code) {
    const capture::Area& area = live.mapping->area();
    std::string module = module_in_set_up(area.header);
    std::string when = "while the module was being set up";
    if (module.empty() && kind == trace::EndKind::signaled && is_crash(code)) {
        ModuleCallback callback = module_callback(area);
        module = std::move(callback.module);
        when = "while a thread was in the module's callback for " + callback.event;
    }
    if (module.empty()) {
        return;
    }
    const std::string trouble = "module " + module + ": the program (" +
                                std::to_string(live.process->pid()) + ") " + ending(kind, code) +
                                " " + when;
    if (around_.options.on_trouble) {
        around_.options.on_trouble(trouble);
    } else {
        around_.notes.add(trouble);
    }
}

void LiveProcesses::look_at_module(Live& live) {
    constexpr unsigned kLooks = 3;  // a second apart
    std::string module = module_in_set_up(live.mapping->area().header);
    live.looks_at_module =
        module.empty() || module != live.module_in_set_up ? 0 : live.looks_at_module + 1;
    live.module_in_set_up = std::move(module);
    if (live.looks_at_module == kLooks && around_.options.on_trouble) {
        around_.options.on_trouble("module " + live.module_in_set_up + ": the program (" +
                                   std::to_string(live.process->pid()) +
                                   ") has not begun, as the module is still being set up");
    }
}

void LiveProcesses::hand_over(Live& live) {
    capture::AreaHeader& header = live.mapping->area().header;
    if (around_.counts_time() && live.process->misses_the_kernel()) {
        header.observer_takes_over.store(1);
        around_.notes.handed_over();
    } else if (!live.handed_over && header.observer_takes_over.load() != 0 &&
               header.kernel_excluded.load() == 0) {
        // It is at work.
        around_.gatekeeper.replace(*live.mapping, {});
        live.handed_over = true;
    }
}

void LiveProcesses::begin_sampling() {
    around_.recorder.begin_sampling(monotonic_ns());
    for (const Live& live : processes_) {
        if (live.has_left) {
            continue;
        }
        live.process->begin_sampling(counts_of(live));
    }
}

ProcessCounts LiveProcesses::counts_of(const Live& live) const {
    const std::optional<std::uint64_t> cpu = process_cpu_ns(live.process->pid());
    return {cpu ? cpu : live.process->said_cpu_ns(), around_.gatekeeper.read(*live.mapping).counted,
            live.process->system_ns()};
}

void LiveProcesses::stop_sampling() {
    for (const Live& live : processes_) {
        live.mapping->area().header.off.store(1);
        live.mapping->area().header.pace.fetch_add(1);
    }
    around_.gatekeeper.set_sampling(false);
    for (const Live& live : processes_) {
        if (!live.has_left) {
            live.process->drain();
            live.process->stop_counting(counts_of(live));
        }
    }
}

void LiveProcesses::go_on_sampling() {
    for (const Live& live : processes_) {
        if (!live.has_left) {
            live.process->drain();
            live.process->go_on_counting(counts_of(live));
        }
        live.mapping->area().header.off.store(0);
        live.mapping->area().header.pace.fetch_add(1);
    }
    around_.gatekeeper.set_sampling(true);
}

void LiveProcesses::change_frequency() {
    around_.throttling.change_frequency(around_.pace.frequency_hz.load());
    const auto still = around_.one_shots.hold_still();
    around_.one_shots.set_period(
        around_.options.expiry_period_at(around_.pace.frequency_hz.load()));
    for (const Live& live : processes_) {
        if (!live.has_left) {
            apply_frequency(live);
        }
    }
}

void LiveProcesses::apply_frequency(const Live& live) {
    capture::AreaHeader& header = live.mapping->area().header;
    const std::uint32_t hz = around_.pace.frequency_hz.load();
    const std::uint64_t period = around_.options.expiry_period_at(hz);
    const auto tell = [&] {
        set_period(header, period, around_.clock.ticks_per_ns());
        header.frequency_hz.store(hz);
        header.pace.fetch_add(1);
    };
    const std::string& source = live.process->identity().source;
    if (source == "perf") {
        around_.gatekeeper.change_period(*live.mapping, period, tell);
        return;
    }
    if (source != "sigtrap" || live.handed_over ||
        around_.one_shots.has_taken_over(*live.mapping)) {
        tell();
        return;
    }
    source::PerfRequest request;
    request.type = around_.options.event.type;
    request.config = around_.options.event.config;
    request.period = period;
    request.cookie = capture::kSampleCookie;
    request.sigtrap = true;
    request.exclude_kernel = header.kernel_excluded.load() != 0;
    const ThreadNumbers numbers{live.process->pid(), live.process->identity().same_pid_namespace};
    auto events = open_for_all_threads(live.process->pid(),
                                       numbers.here(header.observer_tid.load()), request);
    if (events) {
        around_.gatekeeper.replace(*live.mapping, *std::move(events), tell);
    } else {
        around_.notes.kept_frequency();
    }
}

unsigned LiveProcesses::switch_channels() {
    unsigned left = 0;
    for (Live& live : processes_) {
        left += apply_channels(live) ? 0 : 1;
    }
    return left;
}

bool LiveProcesses::apply_channels(Live& live) {
    const std::uint32_t switches = around_.pace.switches.load();
    capture::DefinitionStore* const store = live.mapping->definitions();
    if (live.has_left || store == nullptr || live.switches == switches) {
        return true;
    }
    const ProcessIdentity& identity = live.process->identity();
    const SwitchOutcome outcome =
        collector::switch_channels(*store, identity.pid, live.pidfd.get(),
                                   identity.rights != nullptr, around_.pace.channels());
    if (outcome != SwitchOutcome::later) {
        live.switches = switches;
    }
    if (outcome == SwitchOutcome::refused) {
        around_.notes.kept_channels();
    }
    return outcome == SwitchOutcome::done;
}

void LiveProcesses::give_way_to_tracers() {
    for (const Live& live : processes_) {
        const bool by_own = live.mapping->area().header.traced.load() != 0;
        bool was_traced = by_own;
        if (live.process->identity().source == "sigtrap" || by_own) {
            const bool traced = tracer_in(status_of(live.process->pid())) != 0;
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
