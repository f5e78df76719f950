// The contracts are in the header.
#include "tests/unwind/differential/comparison.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace sample::unwind::differential {

namespace {

constexpr std::size_t kMemoExamples = 4;

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

std::uint64_t Tally::lacking(Missing missing) const {
    std::uint64_t count = 0;
    for (const auto& [key, samples_of_key] : stops) {
        count += key.missing == missing ? samples_of_key : 0;
    }
    return count;
}

std::uint64_t Tally::unexplained() const {
    std::uint64_t count = 0;
    for (const auto& [key, samples_of_key] : differences) {
        count += is_explained({key.kind, key.verdict, key.cause, 0}) ? 0 : samples_of_key;
    }
    return count;
}

const char* name_of(Missing missing) noexcept {
    constexpr std::array kNames{"", "cut off", "page not in memory", "red zone"};
    return kNames.at(static_cast<std::size_t>(missing));
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
    Watched& watched = processes_[pid];
    watched.process.clear();
    watched.stack_ends.clear();
    watched.doubts.clear();
    watched.memos.clear();
}

void Comparison::on_exit(pid_t pid) {
    // Other threads may live on: the modules stay.
    processes_[pid].cached.reset();
    processes_[pid].memos.clear();
}

void Comparison::on_sample(const StackSample& sample) {
    if (sample.stack.empty()) {
        ++tally_.samples;
        ++tally_.no_stack;
        return;
    }
    compare_walks(sample, sample);
}

Difference Comparison::compare_walks(const StackSample& ours, const StackSample& theirs) {
    ++tally_.samples;
    Watched& watched = processes_[ours.pid];
    if (watched.cached == nullptr) {
        watched.cached = std::make_unique<Reference>(true);
    }
    see_stack_end(ours, watched);

    StackMemory memory = StackMemory::recorded(ours.registers.sp(), ours.stack);
    const WalkResult result =
        walk(watched.process.modules(), rows_, ours.registers, memory, frames_);
    addresses_.clear();
    for (std::size_t i = 0; i < result.depth; ++i) {
        // As libunwind has it: the return address itself.
        addresses_.push_back(frames_[i].lookup_pc().value + (frames_[i].is_exact() ? 0 : 1));
    }
    tally_.frames += result.depth;
    tally_.guessed += result.guessed;
    walk_with_memo(ours, watched, result);

    const OurWalk our_walk{addresses_, result.reason};
    const CallSites call_sites{watched.process};
    watched.cached->walk(watched.process, theirs.registers, theirs.stack, kDepth, theirs_);
    Difference difference = compare(our_walk, theirs_, call_sites);
    if (difference.kind != Kind::equal) {
        exact_.walk(watched.process, theirs.registers, theirs.stack, kDepth, theirs_exact_);
        const Difference again = compare(our_walk, theirs_exact_, call_sites);
        if (again.kind == Kind::equal) {
            difference.verdict = Verdict::ours;
            difference.cause = Cause::cache;
        } else {
            difference = again;
            std::swap(theirs_, theirs_exact_);
        }
    }
    count_stop(ours, watched, result.reason, difference.kind == Kind::equal);
    count_links(ours, watched.process, result.reason);
    count_difference(difference, ours, watched.process, result.reason);
    return difference;
}

Example Comparison::example_of(const StackSample& sample, const Process& process,
                               StopReason reason) const {
    return Example{places_of(addresses_, process),
                   places_of(theirs_.frames, process),
                   reason,
                   theirs_.end,
                   sample.registers.sp(),
                   sample.stack.size()};
}

void Comparison::walk_with_memo(const StackSample& sample, Watched& watched,
                                const WalkResult& plain) {
    auto& memo = watched.memos[sample.tid];
    if (memo == nullptr) {
        memo = std::make_unique<StackMemo>();
    }
    StackMemory memory = StackMemory::recorded(sample.registers.sp(), sample.stack);
    const WalkResult result = walk(watched.process.modules(), rows_, sample.registers, memory,
                                   *memo, StackMemo::kMaxFrames);
    const auto frames = memo->root_first();
    tally_.joined += memo->joined();
    const bool same = result.reason == plain.reason && frames.size() == plain.depth &&
                      std::equal(frames.rbegin(), frames.rend(), frames_.begin());
    tally_.memo_different += same ? 0 : 1;
    if (!same && tally_.memo_examples.size() < kMemoExamples) {
        std::vector<std::uint64_t> addresses;
        for (std::size_t i = frames.size(); i > 0; --i) {
            addresses.push_back(frames[i - 1].lookup_pc().value +
                                (frames[i - 1].is_exact() ? 0 : 1));
        }
        tally_.memo_examples.push_back({places_of(addresses_, watched.process),
                                        places_of(addresses, watched.process), plain.reason,
                                        static_cast<int>(result.reason), sample.registers.sp(),
                                        sample.stack.size()});
    }
}

void Comparison::see_stack_end(const StackSample& sample, Watched& watched) {
    std::uint64_t& end = watched.stack_ends[sample.tid];
    if (sample.end() <= end) {
        return;
    }
    end = sample.end();
    std::erase_if(watched.doubts, [this, &sample](const Doubt& doubt) {
        if (doubt.tid != sample.tid || doubt.end >= sample.end()) {
            return false;
        }
        StopKey settled = doubt.key;
        settled.missing = Missing::page;
        ++tally_.stops[settled];
        tally_.stop_examples.emplace(settled, tally_.stop_examples[doubt.key]);
        if (--tally_.stops[doubt.key] == 0) {
            tally_.stops.erase(doubt.key);
            tally_.stop_examples.erase(doubt.key);
        }
        return true;
    });
}

Missing Comparison::missing_for(const StackSample& sample, const Watched& watched) const {
    switch (theirs_.bad_read) {
        case BadRead::below_stack:
            return Missing::red_zone;
        case BadRead::beyond_stack:
            if (sample.full) {
                return Missing::rest;
            }
            return sample.end() < watched.stack_ends.at(sample.tid) ? Missing::page
                                                                    : Missing::nothing;
        default:
            return Missing::nothing;
    }
}

void Comparison::count_stop(const StackSample& sample, Watched& watched, StopReason reason,
                            bool equal) {
    if (reason == StopReason::root) {
        ++tally_.root;
        return;
    }
    StopKey key{reason, Missing::nothing,
                addresses_.empty() ? CodePlace{} : watched.process.place_of(addresses_.back())};
    // Where the walks are equal, libunwind tells which address could not be read.
    if (equal && reason == StopReason::unreadable_memory) {
        key.missing = missing_for(sample, watched);
        if (key.missing == Missing::nothing && theirs_.bad_read == BadRead::beyond_stack) {
            watched.doubts.push_back({sample.tid, sample.end(), key});
        }
    }
    if (tally_.stops[key]++ == 0) {
        tally_.stop_examples[key] = example_of(sample, watched.process, reason);
    }
}

void Comparison::count_links(const StackSample& sample, Process& process, StopReason reason) {
    const CallSites call_sites{process};
    for (std::size_t i = 1; i < addresses_.size(); ++i) {
        if (call_sites.link(addresses_[i - 1], addresses_[i]) == Link::refuted) {
            const CodePlace place = process.place_of(addresses_[i - 1]);
            if (tally_.uncalled[place]++ == 0) {
                tally_.uncalled_examples[place] = example_of(sample, process, reason);
            }
            return;
        }
    }
}

void Comparison::count_difference(const Difference& difference, const StackSample& sample,
                                  const Process& process, StopReason reason) {
    if (difference.kind == Kind::equal) {
        ++tally_.equal;
        return;
    }
    const CodePlace place =
        difference.at == 0 ? CodePlace{} : process.place_of(addresses_[difference.at - 1]);
    const DifferenceKey key{difference.kind, difference.verdict, difference.cause, place};
    if (tally_.differences[key]++ == 0) {
        tally_.examples[key] = example_of(sample, process, reason);
    }
}

}  // namespace sample::unwind::differential
