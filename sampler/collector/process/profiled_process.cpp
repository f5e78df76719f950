#include "sampler/collector/process/profiled_process.h"

#include "sampler/collector/process/proc_files.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sample::collector {
namespace {

bool thread_exists(pid_t pid, std::uint32_t tid) {
    return ::syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

}  // namespace

ProfiledProcess::ProfiledProcess(ProcessIdentity identity, std::shared_ptr<AreaMapping> mapping,
                                 Recorder& recorder, const TickClock& clock)
    : mapping_{std::move(mapping)},
      recorder_{recorder},
      clock_{clock},
      reader_{mapping_->area()},
      account_{std::move(identity), recorder, clock} {}

void ProfiledProcess::begin(bool counts) {
    recorder_.begin(identity().source, identity().source_reason);
    if (recorder_.has_begun()) {
        if (const capture::DefinitionStore* const said = mapping_->definitions(); said != nullptr) {
            account_.set_decoder(decoder_.emplace(*said, clock_, recorder_.names(),
                                                  recorder_.sink(), recorder_.not_before_start(0)));
        }
        account_.begin();
        if (!counts) {
            account_.stop_counting({identity().carried_cpu_ns, 0});
        }
        drain_area();
        account_.book_before_start(area().header.start_cpu_ns.load());
    }
}

void ProfiledProcess::read_sampling() {
    const capture::AreaHeader& header = area().header;
    account_.set_sampling({header.period_ns, header.kernel_excluded.load() != 0,
                           header.observes_waits.load() != 0, header.observer_tid.load(),
                           header.observer_cpu_ns.load()});
}

void ProfiledProcess::drain_area() {
    read_sampling();
    if (decoder_) {
        decoder_->take_announced();
    }
    reader_.drain(account_);
    account_.book_slotless(area().header.slotless_weight.load());
}

void ProfiledProcess::drain() {
    if (recorder_.has_begun()) {
        account_.addresses().read_on();
        drain_area();
        if (account_.has_due()) {
            // Once it has said its last clock, that is what all adds up to.
            const std::uint64_t said = said_cpu_ns();
            const std::optional<std::uint64_t> now = said != 0 ? said : process_cpu_ns(pid());
            if (now) {
                account_.settle(now);
            }
        }
        if (area().header.off.load() == 0 && said_cpu_ns() == 0) {
            account_.look_for_unaccounted();
        }
    }
}

void ProfiledProcess::take_names() {
    if (recorder_.has_begun()) {
        drain();
        account_.addresses().finish(pid());
    }
}

std::optional<std::uint64_t> ProfiledProcess::system_ns() const {
    const bool counts = area().header.kernel_excluded.load() != 0 && !has_died_;
    const auto stat = counts ? stat_of(pid()) : std::nullopt;
    return stat ? std::optional{stat->system_cpu_ns} : std::nullopt;
}

bool ProfiledProcess::misses_the_kernel() const {
    constexpr std::uint64_t kLeastNs = 20'000'000;
    constexpr std::uint64_t kShare = 20;
    const capture::AreaHeader& header = area().header;
    if (header.kernel_excluded.load() == 0 || header.observer_tid.load() == 0 ||
        header.observer_takes_over.load() != 0 || header.off.load() != 0) {
        return false;
    }
    const std::uint64_t known =
        header.start_cpu_ns.load() + account_.seen_ns() + account_.left_out_ns();
    const std::uint64_t now = process_cpu_ns(pid()).value_or(0);
    const std::uint64_t much = now / kShare + kLeastNs;
    // What has no sample may be that of threads that the source does not reach.
    return now > known + much && system_ns().value_or(now) > identity().system_before_ns + much;
}

std::uint64_t ProfiledProcess::said_cpu_ns() const {
    return area().header.last_cpu_ns.load();
}

void ProfiledProcess::begin_sampling(const ProcessCounts& counts) {
    read_sampling();
    account_.look_for_unaccounted();
    account_.begin_sampling(counts);
}

void ProfiledProcess::stop_counting(const ProcessCounts& counts) {
    read_sampling();
    account_.stop_counting(counts);
}

void ProfiledProcess::go_on_counting(const ProcessCounts& counts) {
    read_sampling();
    account_.look_for_unaccounted();
    account_.go_on_counting(counts);
}

void ProfiledProcess::end(trace::EndKind kind, int code, const ProcessCounts& counts) {
    if (!recorder_.has_begun()) {
        return;
    }
    if (kind == trace::EndKind::replaced || has_died_) {
        // What /proc has of it is the new image's, which waits, or gone.
        measure_area();
    } else {
        measure_memory();
    }
    account_.addresses().read_on();
    drain_area();
    if (kind != trace::EndKind::replaced && !has_died_) {
        account_.rename_threads(account_.changed_thread_names());
    }
    tell_losses();
    const HandlerTotals totals = reader_.totals();
    recorder_.beyond().damaged += reader_.corrupt_chunks();
    if (decoder_) {
        decoder_->take_announced(LaneDecoder::Unwritten::skip);
        recorder_.beyond().damaged += decoder_->dropped();
        recorder_.beyond().zones += mapping_->definitions()->lost_zones.load();
        recorder_.beyond().said += mapping_->definitions()->lost_others.load();
    }
    recorder_.beyond().slotless += area().header.slotless_threads.load();
    trace::ProcessEnd end;
    end.kind = kind;
    end.code = code;
    end.lost = totals.lost;
    end.handler_count = totals.samples;
    end.handler_sum_ns = clock_.ns_of(totals.ticks);
    end.sent = totals.sent;
    end.way_ns = totals.way_ns;
    end.late = totals.late;
    end.handler_p99_ns = clock_.ns_of(percentile_99(totals.histogram));
    add_to(recorder_.handler_times(), totals.histogram);
    end.agent_rss_bytes = resident_bytes_ + library_bytes_;
    end.unwind_table_bytes = table_bytes_;
    account_.end(end, counts);
}

void ProfiledProcess::refresh_thread_names() {
    const ProcessAccount::ThreadNames names = account_.changed_thread_names();
    // Once it has begun an exec, they may be those of the program that comes.
    if (said_cpu_ns() == 0) {
        account_.rename_threads(names);
    }
}

void ProfiledProcess::collect_dead_threads() {
    account_.forget_ended();
    if (!identity().same_pid_namespace) {
        return;
    }
    auto gone = reader_.used_slots();
    std::erase_if(gone, [this](const auto& used) { return thread_exists(pid(), used.tid); });
    if (gone.empty()) {
        return;
    }
    drain();
    for (const auto& [slot, tid] : gone) {
        // Its end may have been among what was drained, and the slot another thread's since.
        if (area().slot(slot)->tid.load() == tid) {
            account_.on_thread_killed({slot, tid});
            reader_.free_killed(slot);
        }
    }
}

void ProfiledProcess::tell_losses() {
    const std::uint64_t lost = reader_.totals().lost;
    if (recorder_.has_begun() && lost > told_losses_) {
        recorder_.sink().lost(lost - told_losses_);
        told_losses_ = lost;
    }
}

void ProfiledProcess::measure_area() {
    resident_bytes_ = std::max(resident_bytes_, mapping_->resident_bytes());
    table_bytes_ = std::max(table_bytes_, area().header.table_bytes.load());
}

void ProfiledProcess::measure_memory() {
    measure_area();
    if (library_bytes_ == 0) {
        library_bytes_ = resident_bytes_of(pid(), "/libsample.so").value_or(0) +
                         resident_bytes_of(pid(), "/libsample-memory.so").value_or(0);
    }
}

}  // namespace sample::collector
