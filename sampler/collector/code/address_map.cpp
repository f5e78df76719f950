#include "sampler/collector/code/address_map.h"

#include "core/kernel_clock.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/code/module_file.h"
#include "sampler/collector/process/proc_files.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace sample::collector {
namespace {

constexpr std::uint64_t kReadPauseNs = 10'000'000;
/// So many times what it takes: no more than 2 % of a processor.
constexpr std::uint64_t kReadPauses = 50;
constexpr std::uint64_t kLookPauseNs = 1'000'000'000;

/// Memory that the kernel shows under a file's name, though no file of code is behind it: mapped
/// to be shared, of huge pages, of a memfd, of System V.
bool is_memory_file(std::string_view path) {
    constexpr std::string_view kNames[] = {"/dev/zero", "/anon_hugepage", "/memfd:", "/SYSV"};
    return std::any_of(std::begin(kNames), std::end(kNames),
                       [&](std::string_view name) { return path.starts_with(name); });
}

}  // namespace

bool AddressRanges::add(std::uint64_t start, const Range& range) {
    if (range.end <= start) {
        return true;
    }
    // What lay there before is gone: the address space was used again.
    auto at = ranges_.lower_bound(start);
    if (at != ranges_.begin() && std::prev(at)->second.end > start) {
        --at;
    }
    while (at != ranges_.end() && at->first < range.end) {
        at = ranges_.erase(at);
    }
    return ranges_.size() < kMost && ranges_.emplace(start, range).second;
}

const AddressRanges::Range* AddressRanges::find(std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) {
        return nullptr;
    }
    const Range& range = std::prev(after)->second;
    return address < range.end ? &range : nullptr;
}

JitCode& AddressMap::jit(pid_t pid, Recorder& recorder) {
    if (jit_ == nullptr) {
        jit_ = std::make_unique<JitCode>(pid, recorder, inherited_);
    }
    return *jit_;
}

const std::shared_ptr<const FileRights>& AddressMap::rights(pid_t pid) {
    if (!has_rights_) {
        rights_ = lesser_rights_in(status_of(pid), std::move(rights_));
        has_rights_ = true;
    }
    return rights_;
}

InheritedCode AddressMap::for_child(InheritedCode at_fork) const {
    if (at_fork.maps.empty() && jit_ != nullptr) {
        const ActingAs its_user{rights_};
        at_fork.maps = jit_->map();  // of a parent that was gone before anybody looked
    }
    InheritedCode code{inherited_.maps, at_fork.forked_ns};
    for (FilePart& own : at_fork.maps) {
        code.add(std::move(own));
    }
    return code;
}

bool AddressRanges::has(ModuleId module) const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const auto& range) { return range.second.module == module; });
}

void AddressMap::read_mappings(pid_t pid, Recorder& recorder, bool believes_files) {
    const ActingAs its_user{rights(pid)};
    for (const Mapping& mapping : mappings_of(pid)) {
        if (mapping.executable) {
            take_mapping(mapping, pid, recorder, believes_files);
        }
    }
}

void AddressMap::take_mapping(const Mapping& mapping, pid_t pid, Recorder& recorder,
                              bool believes_files) {
    if (JitCode::is_dump(mapping.path)) {
        jit(pid, recorder).found_dump(mapping);
        return;
    }
    const AddressRanges::Range* known = find(mapping.start);
    // A compiler's memory grows; everything else is what it was.
    if (known != nullptr && (known->end >= mapping.end || !is_jit(*known))) {
        return;
    }
    const bool is_file = mapping.path.starts_with('/') && !is_memory_file(mapping.path);
    if ((is_file && !believes_files) || mapping.path == "[vsyscall]") {
        return;
    }
    if (is_file) {
        const ElfFacts facts = read_elf_facts(mapping.path);
        if (const auto bias = facts.bias_of_mapping(mapping.start, mapping.offset)) {
            trace::Module module;
            module.path = mapping.path;
            module.build_id = facts.build_id;
            // A file that was there at the start and is mapped again is no plug-in.
            const FileIdentity file =
                facts.build_id.empty() ? identity_at(mapping.path.c_str()) : FileIdentity{};
            module.plugin = !ranges_.has(recorder.known_module(module, file));
            know_module_file(recorder, module, pid, mapping.start);
            files_.add(mapping.start, {mapping.end, *bias, module.id, false});
            return;
        }
    }
    ranges_.add(mapping.start, {mapping.end, 0, jit(pid, recorder).module(), false});
}

const AddressRanges::Range* AddressMap::find(std::uint64_t address) const {
    const AddressRanges::Range* range = ranges_.find(address);
    return range != nullptr ? range : files_.find(address);
}

CodeAddress AddressMap::locate_known(Pc pc, Recorder& recorder, std::uint64_t time_ns) const {
    const AddressRanges::Range* range = find(pc.value);
    if (range == nullptr) {
        return {recorder.pseudo(Pseudo::unknown_code), 0, false};
    }
    if (is_jit(*range)) {
        const JitCode::Place place = jit_->locate(pc, time_ns);
        return {place.module, place.address, false, jit_->has_dump(), place.until_ns};
    }
    return {range->module, pc.value - range->bias, range->is_agent};
}

CodeAddress AddressMap::locate(Pc pc, pid_t pid, Recorder& recorder, std::uint64_t time_ns,
                               bool unnamed) {
    const AddressRanges::Range* range = find(pc.value);
    const bool is_unknown = range == nullptr && time_ns >= next_read_ns_;
    const bool may_have_dump =
        range != nullptr && is_jit(*range) && !jit_->has_dump() && time_ns >= next_look_ns_;
    if (is_unknown || may_have_dump) {
        const std::uint64_t before = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        read_mappings(pid, recorder, believes_files_ && !unnamed);
        const std::uint64_t took = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
        next_read_ns_ = time_ns + std::max(kReadPauseNs, kReadPauses * took);
        next_look_ns_ = time_ns + kLookPauseNs;
    }
    return locate_known(pc, recorder, time_ns);
}

}  // namespace sample::collector
