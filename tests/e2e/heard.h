// What programs say by sample/trace.h, as it comes out of a session: real programs with the agent,
// and a collector in this process whose sink keeps it all.
#pragma once

#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sample {

using Lines = std::vector<std::string>;

/// What one thread said.
struct HeardThread {
    std::string name;
    std::uint32_t pid = 0;
    Lines lines;  ///< The first ones.
    Lines open;
    std::uint64_t last_ns = 0;
    std::uint64_t begun = 0;
    std::uint64_t others = 0;
    std::uint64_t lost_zones = 0;
    std::uint64_t lost_others = 0;
};

struct Heard {
    std::map<std::uint32_t, std::uint32_t> pids;
    std::map<std::uint32_t, HeardThread> threads;
    std::map<std::uint32_t, trace::ZoneSpec> zones;
    std::map<std::uint32_t, trace::CounterSpec> counters;
    std::map<std::uint32_t, trace::MessageSpec> messages;
    std::map<std::uint32_t, std::string> notes;
    std::map<std::string, bool> channels;
    std::map<unsigned, std::string> frame_kinds;
    std::map<std::uint32_t, trace::EventTypeSpec> event_types;
    std::map<std::uint64_t, std::string> by_serial;  ///< Events.
    Lines kept;                                      ///< Important ones.
    Lines broken;                                    ///< What no sink should get.
    std::string note;
    std::uint64_t samples = 0;

    /// Those of all threads that said anything, in the order in which the threads came.
    [[nodiscard]] std::vector<const HeardThread*> speakers() const {
        std::vector<const HeardThread*> found;
        for (const auto& [id, thread] : threads) {
            if (!thread.lines.empty()) {
                found.push_back(&thread);
            }
        }
        return found;
    }
};

/// The channels that `--trace default` listens to.
inline constexpr const char* kDefaultChannels = "cpu,frame,bookmark,region,counter,log";

/// Runs `command` in a session that listens to `channels`; without samples if the frequency is 0.
/// The first zone is taken in only when there is a byte in `pause`, unless that is -1.
[[nodiscard]] Heard listen(const Lines& command, const std::string& channels,
                           std::uint32_t frequency_hz = 0, int pause = -1);

/// The path of a program of tests/targets.
[[nodiscard]] std::string target(const std::string& name);

/// Lines that say `what`.
[[nodiscard]] std::ptrdiff_t count(const Lines& lines, const std::string& what);

[[nodiscard]] std::string all_of(const HeardThread& thread);

}  // namespace sample
