// The machine code that one process makes at run time, and where its names are to be found.
//
// Made when such code is met first; a program without any costs nothing. Two sources of names:
//
//   the dump   jit-PID.dump, which the process maps executable so that profilers find it. Read
//              while it grows. An address is translated to the dump's module and the place of the
//              code's byte in the file: unique, though addresses of the process are used again.
//   the map    /tmp/perf-PID.map, which may be written at the very end. What no dump tells of goes
//              to a module of this path, with the process's own addresses.
//
// A forked child goes on with its parent's code: of its parent's map what was there at the fork
// counts for it, before its own; of a dump that both write to, what was told until then, and what
// it tells itself.
//
// Both vanish. The dump's descriptor and a copy of the map go to the recorder, to be read when the
// session ends. Both must belong to the process's user, or root, as perf demands.
// Sources: Linux tools/perf/Documentation/jit-interface.txt, jitdump-specification.txt.
#pragma once

#include "core/address.h"
#include "core/fd.h"
#include "core/jitdump.h"
#include "sampler/collector/code/jit_history.h"
#include "sampler/collector/code/perf_map_place.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::collector {

/// What a process got from its parent when it was forked.
struct InheritedCode {
    /// Maps are descriptors, and each fork may add one: of more only the latest.
    static constexpr std::size_t kMostMaps = 16;
    void add(FilePart map) {
        if (maps.size() == kMostMaps) {
            maps.erase(maps.begin());
        }
        maps.push_back(std::move(map));
    }

    std::vector<FilePart> maps;   ///< Of its ancestors, the oldest first.
    std::uint64_t forked_ns = 0;  ///< When; 0: it was not forked.
};

class JitCode {
public:
    /// Looks at the process, which should be alive still.
    JitCode(pid_t pid, Recorder& recorder, InheritedCode inherited);

    /// Code that no dump tells of.
    [[nodiscard]] ModuleId module() const { return module_; }
    /// True if the mapping's file is a dump, by its name.
    [[nodiscard]] static bool is_dump(const std::string& path);
    /// The process maps a dump. The first one that can be read is taken.
    void found_dump(const Mapping& mapping);
    [[nodiscard]] bool has_dump() const { return reader_.has_value(); }
    /// Takes in what the dump has told since. One system call if that is nothing.
    void read_on();

    struct Place {
        ModuleId module;
        std::uint64_t address = 0;
        std::uint64_t until_ns = JitHistory::kForever;
    };
    [[nodiscard]] Place locate(Pc pc, std::uint64_t time_ns);
    /// Goes up with every piece of code that the dump tells of.
    [[nodiscard]] std::uint64_t changes() const { return history_.changes(); }

    /// The process has ended, or will be another program: hands the names to the recorder.
    void finish();
    /// The map as it is now, also of a process that is gone.
    [[nodiscard]] std::vector<FilePart> map() const { return place_.snapshot(); }

private:
    [[nodiscard]] Fd open_dump(const Mapping& mapping) const;
    [[nodiscard]] bool is_own(const jitdump::Record& record) const;
    void take_map();

    Recorder& recorder_;
    pid_t pid_;
    PerfMapPlace place_;
    InheritedCode inherited_;
    ModuleId module_;
    Fd dump_;
    std::string dump_path_;
    std::optional<jitdump::Reader> reader_;
    bool refused_ = false;  ///< The dump cannot be followed.
    ModuleId dump_module_;
    JitHistory history_;
    bool finished_ = false;
};

}  // namespace sample::collector
