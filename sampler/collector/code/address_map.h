// Which module an address of one process lies in.
//
// Filled by the agent's records of the modules that a process started with and, for what they do
// not cover (run-time code, libraries loaded past the loader), from /proc/PID/maps. Libraries that
// came later are known for each thread apart. Not thread-safe.
#pragma once

#include "core/address.h"
#include "core/file_rights.h"
#include "sampler/collector/code/jit_code.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>

namespace sample::collector {

struct CodeAddress {
    ModuleId module;
    std::uint64_t address = 0;  ///< In the module's own addresses.
    bool is_agent = false;      ///< Our own frame: to be left out.
    /// Of code made at run time that a dump tells of: from then on, or when the dump has told
    /// more, the answer may be another one.
    bool is_dated = false;
    std::uint64_t until_ns = JitHistory::kForever;
};

/// Where modules lie. Ranges do not overlap: a new one replaces what it covers.
class AddressRanges {
public:
    struct Range {
        std::uint64_t end = 0;
        std::uint64_t bias = 0;
        ModuleId module;
        bool is_agent = false;
    };

    /// As many as a process can have mappings, and some that are gone.
    static constexpr std::size_t kMost = std::size_t{1} << 17U;

    /// False: there is no room.
    bool add(std::uint64_t start, const Range& range);
    void clear() { ranges_.clear(); }
    /// Whether the module lies in one of them. O(ranges).
    [[nodiscard]] bool has(ModuleId module) const;
    [[nodiscard]] std::size_t size() const { return ranges_.size(); }
    /// O(log ranges). Null: in none.
    [[nodiscard]] const Range* find(std::uint64_t address) const;

private:
    std::map<std::uint64_t, Range> ranges_;  ///< By first byte.
};

class AddressMap {
public:
    /// False: there is no room.
    bool add(std::uint64_t start, const AddressRanges::Range& range) {
        return ranges_.add(start, range);
    }
    /// The process has unloaded a library: files that /proc names are no longer believed, as
    /// another one may lie there by now.
    void forget_files() {
        files_.clear();
        believes_files_ = false;
    }
    /// At `time_ns`. O(log ranges). Asks /proc for unknown addresses, at most once in 10 ms, and
    /// more seldom where that takes long; for a dump of code made at run time, once a second.
    /// `unnamed`: the address may be of a library that was not named, in whose place another one
    /// may lie by now; then /proc's files are not believed.
    CodeAddress locate(Pc pc, pid_t pid, Recorder& recorder, std::uint64_t time_ns,
                       bool unnamed = false);

    /// The process was forked: its code made at run time may be its parent's.
    void inherit(InheritedCode inherited) { inherited_ = std::move(inherited); }
    /// What the process hands on to a child that it forked: what it was given itself, and its own
    /// map as that was `at_fork`.
    [[nodiscard]] InheritedCode for_child(InheritedCode at_fork) const;

    /// Whose rights on files count while files of the process's choosing are opened: its user's,
    /// where these are less than ours. Asked for once between two calls of read_on().
    [[nodiscard]] const std::shared_ptr<const FileRights>& rights(pid_t pid);
    /// What they are, of a process that may be gone soon.
    void set_rights(std::shared_ptr<const FileRights> rights) { rights_ = std::move(rights); }

    /// Takes in what is told of code made at run time. Nothing where there is none.
    void read_on() {
        has_rights_ = false;
        if (jit_ != nullptr) {
            jit_->read_on();
        }
    }
    /// Goes up when answers that are dated may have changed.
    [[nodiscard]] std::uint64_t changes() const { return jit_ == nullptr ? 0 : jit_->changes(); }
    /// The process has ended, or will be another program: its names are taken.
    void finish(pid_t pid) {
        if (jit_ != nullptr) {
            const ActingAs its_user{rights(pid)};
            jit_->finish();
        }
    }

private:
    CodeAddress locate_known(Pc pc, Recorder& recorder, std::uint64_t time_ns) const;
    void read_mappings(pid_t pid, Recorder& recorder, bool believes_files);
    void take_mapping(const Mapping& mapping, pid_t pid, Recorder& recorder, bool believes_files);
    JitCode& jit(pid_t pid, Recorder& recorder);
    [[nodiscard]] bool is_jit(const AddressRanges::Range& range) const {
        return jit_ != nullptr && range.module == jit_->module();
    }

    [[nodiscard]] const AddressRanges::Range* find(std::uint64_t address) const;

    AddressRanges ranges_;
    AddressRanges files_;  ///< What only /proc has named.
    bool believes_files_ = true;
    std::shared_ptr<const FileRights> rights_;
    bool has_rights_ = false;  ///< Of late.
    std::uint64_t next_read_ns_ = 0;
    std::uint64_t next_look_ns_ = 0;  ///< For a dump.
    InheritedCode inherited_;
    std::unique_ptr<JitCode> jit_;  ///< Once code was met that was made at run time.
};

}  // namespace sample::collector
