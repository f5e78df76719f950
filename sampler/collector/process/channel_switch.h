// Switches the channels of a process that runs, from outside: see capture/channel_table.h. Not
// thread-safe.
#pragma once

#include "sampler/capture/definition_store.h"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace sample::collector {

/// Of a process that does not look at it, as it has not joined yet, or waits for whoever holds its
/// channels.
void set_wanted_channels(capture::DefinitionStore& store, const std::string& wanted);

enum class SwitchOutcome : std::uint8_t {
    done,
    later,    ///< It adds or removes some itself just now.
    refused,  ///< Its memory may not be written to: all of its channels stay as they are.
};
/// Those of `wanted`, separated by commas, are on from now on, also in modules that the process
/// loads later. `has_lesser_rights`: the process had when it joined; one that has more since is not
/// touched. Source: proc(5), /proc/PID/mem, which stays the image's that it was opened for.
[[nodiscard]] SwitchOutcome switch_channels(capture::DefinitionStore& store, pid_t pid, int pidfd,
                                            bool has_lesser_rights, const std::string& wanted);

}  // namespace sample::collector
