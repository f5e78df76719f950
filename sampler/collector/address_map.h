// Which module an address of one process lies in.
//
// Filled by the agent's records of the modules that a process started with and, for what they do
// not cover (run-time code, libraries loaded past the loader), from /proc/PID/maps. Libraries that
// came later are known for each thread apart. Not thread-safe.
#pragma once

#include "core/address.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstdint>
#include <map>

namespace sample::collector {

struct CodeAddress {
    ModuleId module;
    std::uint64_t address = 0;  ///< In the module's own addresses.
    bool is_agent = false;      ///< Our own frame: to be left out.
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

    void add(std::uint64_t start, const Range& range);
    void clear() { ranges_.clear(); }
    /// O(log ranges). Null: in none.
    [[nodiscard]] const Range* find(std::uint64_t address) const;

private:
    std::map<std::uint64_t, Range> ranges_;  ///< By first byte.
};

class AddressMap {
public:
    void add(std::uint64_t start, const AddressRanges::Range& range) { ranges_.add(start, range); }
    /// The process has unloaded a library: files that /proc names are no longer believed, as
    /// another one may lie there by now.
    void forget_files() {
        files_.clear();
        believes_files_ = false;
    }
    /// O(log ranges).
    CodeAddress locate_known(Pc pc, Recorder& recorder) const;
    /// Asks /proc for unknown addresses, at most once in 50 ms.
    CodeAddress locate(Pc pc, pid_t pid, Recorder& recorder, std::uint64_t now_ns);

private:
    void read_mappings(pid_t pid, Recorder& recorder);

    [[nodiscard]] const AddressRanges::Range* find(std::uint64_t address) const;

    AddressRanges ranges_;
    AddressRanges files_;  ///< What only /proc has named.
    bool believes_files_ = true;
    std::uint64_t next_read_ns_ = 0;
};

}  // namespace sample::collector
