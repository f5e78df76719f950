// The contracts are in the header.
#include "tests/unwind/differential/comparison.h"

#include <optional>

namespace sample::unwind::differential {

namespace {

constexpr std::uint64_t kExactBit = std::uint64_t{1} << 63;

/// The frames from a little inside of where the walks part.
std::vector<CodePlace> places_of(std::span<const std::uint64_t> frames, const Process& process) {
    std::vector<CodePlace> places;
    for (const std::uint64_t frame : frames) {
        places.push_back(process.place_of(frame));
    }
    return places;
}

}  // namespace

std::uint64_t Tally::with(Verdict verdict) const {
    std::uint64_t count = verdict == Verdict::equal ? equal : 0;
    for (const auto& [key, samples_of_key] : differences) {
        count += key.verdict == verdict ? samples_of_key : 0;
    }
    return count;
}

Comparison::Comparison()
    : storage_{std::make_unique<std::array<RowCache::Entry, kEntries>>()},
      rows_{*storage_},
      frames_(kDepth) {}

void Comparison::on_mapping(pid_t pid, const CodeMapping& mapping) {
    const Image* image = images_.find(mapping.path);
    const auto bias = image == nullptr ? std::nullopt : image->bias_of(mapping);
    if (bias) {
        processes_[pid].process.map(*image, *bias);
    } else {
        processes_[pid].process.map_anonymous({mapping.address, mapping.address + mapping.size});
    }
}

void Comparison::on_fork(pid_t parent, pid_t child) {
    processes_[child].process = processes_[parent].process;
}

void Comparison::on_exec(pid_t pid) {
    processes_[pid].process.clear();
}

void Comparison::on_exit(pid_t pid) {
    // Other threads may live on: the modules stay.
    processes_[pid].cached.reset();
}

void Comparison::on_sample(const StackSample& sample) {
    if (sample.stack.empty()) {
        ++tally_.samples;
        ++tally_.no_stack;
        return;
    }
    compare_walks(sample.pid, sample, sample);
}

Difference Comparison::compare_walks(pid_t pid, const StackSample& ours,
                                     const StackSample& theirs) {
    ++tally_.samples;
    Watched& watched = processes_[pid];
    if (watched.cached == nullptr) {
        watched.cached = std::make_unique<Reference>(true);
    }
    StackMemory memory = StackMemory::recorded(ours.registers.sp(), ours.stack);
    const WalkResult result =
        walk(watched.process.modules(), rows_, ours.registers, memory, frames_);
    addresses_.clear();
    for (std::size_t i = 0; i < result.depth; ++i) {
        addresses_.push_back(frames_[i].bits() & ~kExactBit);
    }
    tally_.frames += result.depth;
    const OurWalk our_walk{addresses_, result.reason};
    const CallSites call_sites{watched.process};
    watched.cached->walk(watched.process, theirs.registers, theirs.stack, kDepth, reference_);
    Difference difference = compare(our_walk, reference_, call_sites);
    if (difference.kind != Kind::equal) {
        exact_.walk(watched.process, theirs.registers, theirs.stack, kDepth, exact_walk_);
        const Difference again = compare(our_walk, exact_walk_, call_sites);
        if (again.kind == Kind::equal) {
            difference.verdict = Verdict::ours;
            difference.cause = Cause::cache;
        } else {
            difference = again;
            std::swap(reference_, exact_walk_);
        }
    }
    count_stop(ours, watched.process, result.reason,
               difference.kind == Kind::equal && reference_.bad_read == BadRead::below_stack);
    count_difference(difference, watched.process, result.reason, reference_, pid);
    return difference;
}

void Comparison::count_stop(const StackSample& sample, const Process& process, StopReason reason,
                            bool needs_red_zone) {
    if (reason == StopReason::root) {
        ++tally_.root;
    } else if (reason == StopReason::unreadable_memory && sample.cut) {
        ++tally_.cut;
    } else if (reason == StopReason::unreadable_memory && needs_red_zone) {
        ++tally_.red_zone;
    } else {
        const CodePlace last =
            addresses_.empty() ? CodePlace{} : process.place_of(addresses_.back());
        ++tally_.stops[StopKey{reason, last}];
    }
}

void Comparison::count_difference(const Difference& difference, const Process& process,
                                  StopReason reason, const ReferenceWalk& theirs, pid_t pid) {
    if (difference.kind == Kind::equal) {
        ++tally_.equal;
        return;
    }
    const CodePlace place = difference.at == 0 ? CodePlace{}
                                               : process.place_of(addresses_[difference.at - 1]);
    const DifferenceKey key{difference.kind, difference.verdict, difference.cause, place};
    if (tally_.differences[key]++ == 0) {
        tally_.examples[key] = Example{places_of(addresses_, process),
                                       places_of(theirs.frames, process), reason, theirs.end, pid};
    }
}

}  // namespace sample::unwind::differential
