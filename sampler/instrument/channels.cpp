#include "sampler/instrument/channels.h"

#include "sampler/capture/capture.h"
#include "sampler/instrument/definitions.h"

namespace sample::instrument {
namespace {

/// Whether `name` is one of `names`, which are separated by commas.
bool is_among(const char* name, const char* names) noexcept {
    while (*names != '\0') {
        std::size_t i = 0;
        while (name[i] != '\0' && name[i] == names[i]) {
            ++i;
        }
        if (name[i] == '\0' && (names[i] == ',' || names[i] == '\0')) {
            return true;
        }
        while (*names != '\0' && *names != ',') {
            ++names;
        }
        names += *names == ',' ? 1 : 0;
    }
    return false;
}

}  // namespace

void add_channel(const sample_trace_channel& channel) noexcept {
    const capture::DefinitionStore* const store =
        capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr) {
        return;
    }
    const char* const wanted = store->wanted.data();
    const bool is_on = is_among(channel.name, wanted) || is_among(capture::kAllChannels, wanted);
    capture::Definition definition;
    definition.kind = capture::DefinitionKind::channel;
    definition.flags = is_on ? 1 : 0;
    static_cast<void>(define(definition, {channel.name}));
    *channel.word = is_on ? 0 : 1;
}

void remove_channel(const sample_trace_channel& channel) noexcept {
    *channel.word = 1;
}

}  // namespace sample::instrument
