#include "cli/record/receivers.h"

#include "cli/refuse.h"
#include "sampler/capture/definition_store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace sample::cli {
namespace {

constexpr Receiver kReceivers[] = {
    {"itt", "Intel's ITT: TBB, oneDNN, libomp, ...", "INTEL_LIBITTNOTIFY64", "libsample-itt.so"},
    {"nvtx", "NVIDIA's NVTX", "NVTX_INJECTION64_PATH", "libsample-nvtx.so"},
    {"openmp", "OpenMP's regions, tasks and waits, by OMPT", "OMP_TOOL_LIBRARIES",
     "libsample-ompt.so"}};

bool is_among(std::string_view channel, std::string_view channels) {
    while (!channels.empty()) {
        const std::size_t end = std::min(channels.find(','), channels.size());
        if (channels.substr(0, end) == channel) {
            return true;
        }
        channels.remove_prefix(std::min(end + 1, channels.size()));
    }
    return false;
}

}  // namespace

std::span<const Receiver> receivers() {
    return kReceivers;
}

Result<ReceiverSettings> receiver_settings(std::string_view channels, std::string_view agent) {
    ReceiverSettings settings;
    const std::string folder{agent.substr(0, agent.rfind('/') + 1)};
    for (const Receiver& receiver : kReceivers) {
        const bool is_named = is_among(receiver.channel, channels);
        if (!is_named && !is_among(capture::kAllChannels, channels)) {
            continue;
        }
        const std::string library = folder + std::string{receiver.library};
        const char* const set = std::getenv(receiver.variable);
        if (set != nullptr && *set != '\0') {
            if (set != library) {
                settings.notes.push_back(fmt::format(
                    "{0} is set already, to {1}, and stays so: what --trace {2} would record goes "
                    "there; unset {0} to record it",
                    receiver.variable, set, receiver.channel));
            }
        } else if (::access(library.c_str(), R_OK) == 0) {
            settings.variables.emplace_back(receiver.variable, library);
        } else if (is_named) {
            return refuse(ErrorCode::not_found,
                          "{} is not beside libsample.so, in {}: install both, or leave {} out of "
                          "--trace",
                          receiver.library, folder, receiver.channel);
        }
    }
    return settings;
}

}  // namespace sample::cli
