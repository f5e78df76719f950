#include "analysis/instrumentation/memory.h"

#include <algorithm>
#include <variant>

namespace sample::analysis {
namespace {

std::string name_below(const std::map<std::uint32_t, Memory::Named>& known, std::uint32_t parent,
                       const std::string& name) {
    const auto its = known.find(parent);
    return parent == 0 || its == known.end() ? name : its->second.name + "/" + name;
}

}  // namespace

void MemoryUse::give_out(std::uint64_t bytes, std::uint64_t time_ns) {
    ++allocations;
    allocated_bytes += bytes;
    ++live;
    live_bytes += bytes;
    if (live_bytes > peak_bytes) {
        peak_bytes = live_bytes;
        peak_ns = time_ns;
    }
}

void MemoryUse::take_back(std::uint64_t bytes, bool is_short_lived) {
    --live;
    live_bytes -= bytes;
    short_lived += is_short_lived ? 1 : 0;
}

std::size_t Memory::KeyHash::operator()(const Key& key) const noexcept {
    const std::uint64_t who = std::uint64_t{key.process} << 32U | key.heap;
    std::uint64_t hash = (key.address ^ who * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 32U;
    return hash;
}

void Memory::record(const trace::Record& record) {
    if (const auto* const thread = std::get_if<trace::Thread>(&record)) {
        processes_.push_back(thread->process.value);
    }
}

void Memory::instrumentation(const trace::Instrumentation& said) {
    if (const auto* const heap = std::get_if<trace::HeapSpec>(&said)) {
        const std::uint32_t parent = heap->parent.value;
        heaps_[heap->id.value] = {name_below(heaps_, parent, heap->name), parent};
    } else if (const auto* const tag = std::get_if<trace::MemoryTagSpec>(&said)) {
        const std::uint32_t parent = tag->parent.value;
        tags_[tag->id.value] = {name_below(tags_, parent, tag->name), parent};
    }
}

void Memory::end(const Key& key, const Block& block, std::uint64_t time_ns) {
    const bool is_short = time_ns - std::min(time_ns, block.time_ns) < kShortNs;
    Named& heap = heaps_[key.heap];
    heap.use.take_back(block.bytes, is_short);
    tags_[block.tag].use.take_back(block.bytes, is_short);
    if (heap.parent == 0) {
        total_.take_back(block.bytes, is_short);
        stacks_[block.call_stack].take_back(block.bytes, is_short);
    }
}

void Memory::memory(const trace::MemoryEvent& event) {
    const std::uint32_t thread = event.thread.value;
    const Key key{event.address,
                  thread >= 1 && thread <= processes_.size() ? processes_[thread - 1] : 0,
                  event.heap.value};
    if (!trace::gives_out(event.kind)) {
        ++frees_;
        const auto at = blocks_.find(key);
        if (at == blocks_.end()) {
            ++unknown_frees_;
            return;
        }
        end(key, at->second, event.time_ns);
        blocks_.erase(at);
        return;
    }
    reallocations_ += event.kind == trace::MemoryKind::realloc_alloc ? 1 : 0;
    if (blocks_.size() >= kMostBlocks) {
        ++left_out_;
        return;
    }
    const Block block{event.bytes, event.time_ns, event.call_stack, event.tag.value};
    const auto [at, is_new] = blocks_.try_emplace(key, block);
    if (!is_new) {
        end(key, at->second, event.time_ns);
        at->second = block;
    }
    Named& heap = heaps_[key.heap];
    heap.use.give_out(event.bytes, event.time_ns);
    tags_[block.tag].use.give_out(event.bytes, event.time_ns);
    if (heap.parent == 0) {
        total_.give_out(event.bytes, event.time_ns);
        stacks_[block.call_stack].give_out(event.bytes, event.time_ns);
    }
}

}  // namespace sample::analysis
