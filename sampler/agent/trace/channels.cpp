#include "sampler/agent/trace/channels.h"

#include "sampler/agent/session/patience.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/channel_table.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/instrument/definitions.h"

#include <linux/futex.h>

#include <cstring>
#include <ctime>

namespace sample::agent {
namespace {

using capture::ChannelEntry;
using capture::DefinitionStore;

/// A collector that was stopped while it switched: the module that waits for it goes all the same.
constexpr std::uint64_t kMostForASwitchNs = 2'000'000'000;

constinit capture::ChannelTable g_channels{};

/// Nobody else adds, removes or switches channels while it lives. Without a system call but where
/// somebody does.
class HeldChannels {
public:
    explicit HeldChannels(DefinitionStore& store) noexcept : holder_{store.channels_holder} {
        Patience patience{static_cast<int>(collector_pid()), kMostForASwitchNs, kMostForASwitchNs};
        std::uint32_t seen = capture::kChannelsFree;
        while (!holder_.compare_exchange_strong(seen, capture::kChannelsOfAgent,
                                                std::memory_order_acquire)) {
            const timespec slice{0, Patience::kSliceNs};
            capture::raw_syscall(SYS_futex, capture::as_argument(&holder_), FUTEX_WAIT, seen,
                                 capture::as_argument(&slice));
            if (!patience.goes_on()) {
                return;
            }
            seen = capture::kChannelsFree;
        }
        is_held_ = true;
    }
    /// What was waited for in vain is still somebody else's.
    ~HeldChannels() {
        if (is_held_) {
            holder_.store(capture::kChannelsFree, std::memory_order_release);
        }
    }
    HeldChannels(const HeldChannels&) = delete;
    HeldChannels& operator=(const HeldChannels&) = delete;

private:
    std::atomic<std::uint32_t>& holder_;
    bool is_held_ = false;
};

void remember(const sample_trace_channel& channel) noexcept {
    const std::size_t bytes = strlen(channel.name) + 1;
    if (bytes > sizeof ChannelEntry::name) {
        return;
    }
    for (std::size_t i = 0; i < g_channels.entries.size(); ++i) {
        ChannelEntry& entry = g_channels.entries[i];
        std::uint64_t unused = ChannelEntry::kUnused;
        if (entry.word.compare_exchange_strong(unused, ChannelEntry::kBeingWritten)) {
            memcpy(entry.name.data(), channel.name, bytes);
            entry.word.store(reinterpret_cast<std::uint64_t>(channel.word),
                             std::memory_order_release);
            std::uint64_t used = g_channels.used.load();
            while (used <= i && !g_channels.used.compare_exchange_weak(used, i + 1)) {
            }
            return;
        }
    }
}

/// Once. Modules that call a channel alike may have one word, the first one's. Returns whether no
/// other has it.
bool forget(const volatile std::uint32_t* word) noexcept {
    bool is_forgotten = false;
    bool is_last = true;
    for (std::uint64_t i = 0; i < g_channels.used.load(); ++i) {
        auto at = reinterpret_cast<std::uint64_t>(word);
        if (!is_forgotten) {
            is_forgotten =
                g_channels.entries[i].word.compare_exchange_strong(at, ChannelEntry::kUnused);
        } else if (g_channels.entries[i].word.load() == at) {
            is_last = false;
        }
    }
    return is_last;
}

}  // namespace

void add_channel(const sample_trace_channel& channel) noexcept {
    DefinitionStore* const store = capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr) {
        remember(channel);  // a process that has not joined, and may yet
        return;
    }
    const HeldChannels held{*store};
    remember(channel);
    const bool is_on = capture::is_channel_wanted(channel.name, store->wanted.data());
    capture::Definition definition;
    definition.kind = capture::DefinitionKind::channel;
    definition.flags = is_on ? 1 : 0;
    static_cast<void>(instrument::define(definition, {channel.name}));
    *channel.word = is_on ? 0 : 1;
}

void remove_channel(const sample_trace_channel& channel) noexcept {
    bool is_last = false;
    if (DefinitionStore* const store =
            capture::g_attached->definitions.load(std::memory_order_acquire);
        store != nullptr) {
        const HeldChannels held{*store};
        is_last = forget(channel.word);
    } else {
        is_last = forget(channel.word);
    }
    if (is_last) {
        *channel.word = 1;
    }
}

void hand_over_channels(DefinitionStore& store) noexcept {
    const HeldChannels held{store};
    for (std::uint64_t i = 0; i < g_channels.used.load(); ++i) {
        const ChannelEntry& entry = g_channels.entries[i];
        if (const std::uint64_t word = entry.word.load(std::memory_order_acquire);
            word > ChannelEntry::kBeingWritten) {
            *reinterpret_cast<volatile std::uint32_t*>(word) =
                capture::is_channel_wanted(entry.name.data(), store.wanted.data()) ? 0 : 1;
        }
    }
    const std::uint64_t token = capture::read_ticks();
    g_channels.token.store(token);
    store.channels_token.store(token);
    // Pairs with the acquire of who switches them.
    store.channels.store(reinterpret_cast<std::uint64_t>(&g_channels), std::memory_order_release);
}

}  // namespace sample::agent
