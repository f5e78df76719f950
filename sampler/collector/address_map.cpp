#include "sampler/collector/address_map.h"

#include "sampler/collector/elf_facts.h"
#include "sampler/collector/proc_files.h"

namespace sample::collector {
namespace {

constexpr std::uint64_t kReadPauseNs = 50'000'000;

}  // namespace

void AddressRanges::add(std::uint64_t start, const Range& range) {
    if (range.end <= start) {
        return;
    }
    // What lay there before is gone: the address space was used again.
    auto at = ranges_.lower_bound(start);
    if (at != ranges_.begin() && std::prev(at)->second.end > start) {
        --at;
    }
    while (at != ranges_.end() && at->first < range.end) {
        at = ranges_.erase(at);
    }
    ranges_.emplace(start, range);
}

const AddressRanges::Range* AddressRanges::find(std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) {
        return nullptr;
    }
    const Range& range = std::prev(after)->second;
    return address < range.end ? &range : nullptr;
}

void AddressMap::read_mappings(pid_t pid, Recorder& recorder) {
    for (const Mapping& mapping : mappings_of(pid)) {
        if (!mapping.executable || find(mapping.start) != nullptr) {
            continue;
        }
        AddressRanges::Range range{mapping.end, 0, recorder.pseudo(Pseudo::jit), false};
        const bool is_file = !mapping.path.empty() && mapping.path[0] == '/';
        if (is_file && !believes_files_) {
            continue;
        }
        if (is_file) {
            const ElfFacts facts = read_elf_facts(mapping.path);
            if (const auto bias = facts.bias_of_mapping(mapping.start, mapping.offset)) {
                trace::Module module;
                module.plugin = true;
                module.path = mapping.path;
                module.build_id = facts.build_id;
                range.module = recorder.module(module);
                range.bias = *bias;
            }
        } else if (mapping.path == "[vsyscall]") {
            continue;
        }
        (is_file ? files_ : ranges_).add(mapping.start, range);
    }
}

const AddressRanges::Range* AddressMap::find(std::uint64_t address) const {
    const AddressRanges::Range* range = ranges_.find(address);
    return range != nullptr ? range : files_.find(address);
}

CodeAddress AddressMap::locate_known(Pc pc, Recorder& recorder) const {
    const AddressRanges::Range* range = find(pc.value);
    if (range == nullptr) {
        return {recorder.pseudo(Pseudo::unknown_code), 0, false};
    }
    return {range->module, pc.value - range->bias, range->is_agent};
}

CodeAddress AddressMap::locate(Pc pc, pid_t pid, Recorder& recorder, std::uint64_t now_ns) {
    if (find(pc.value) == nullptr && now_ns >= next_read_ns_) {
        read_mappings(pid, recorder);
        next_read_ns_ = now_ns + kReadPauseNs;
    }
    return locate_known(pc, recorder);
}

}  // namespace sample::collector
