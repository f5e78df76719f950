// Programs that are instrumented for another tool: each of its interfaces has a variable of the
// environment that names a library, which the program loads. Ours (receivers/) write what they hear
// into the recording, on a channel each.
#pragma once

#include "core/result.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::cli {

struct Receiver {
    std::string_view channel;
    std::string_view meaning;
    const char* variable;
    std::string_view library;
};
[[nodiscard]] std::span<const Receiver> receivers();

struct ReceiverSettings {
    std::vector<std::pair<std::string, std::string>> variables;  ///< For the command.
    std::vector<std::string> notes;  ///< What the user has set, which stays so: for people.
};

/// For the channels of `channels`, which commas separate; "all" is each whose library is there.
/// The libraries lie beside `agent`. Errors: not_found, for one that is named and is not there.
[[nodiscard]] Result<ReceiverSettings> receiver_settings(std::string_view channels,
                                                         std::string_view agent);

}  // namespace sample::cli
