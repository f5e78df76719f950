#include "sampler/collector/process/channel_switch.h"

#include "core/fd.h"
#include "core/file_rights.h"
#include "sampler/collector/process/proc_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sample::collector {
namespace {

using capture::ChannelTable;
using capture::DefinitionStore;

/// An entry as it was read: capture::ChannelEntry.
struct Entry {
    std::uint64_t word = 0;
    std::array<char, sizeof capture::ChannelEntry::name> name{};
};
static_assert(sizeof(Entry) == sizeof(capture::ChannelEntry));

/// Nobody waits here for the process, which may have been stopped.
class HeldChannels {
public:
    explicit HeldChannels(DefinitionStore& store) : holder_{store.channels_holder} {
        std::uint32_t free = capture::kChannelsFree;
        is_held_ = holder_.compare_exchange_strong(free, capture::kChannelsOfCollector,
                                                   std::memory_order_acquire);
    }
    ~HeldChannels() {
        if (is_held_) {
            holder_.store(capture::kChannelsFree, std::memory_order_release);
        }
    }
    HeldChannels(const HeldChannels&) = delete;
    HeldChannels& operator=(const HeldChannels&) = delete;
    [[nodiscard]] bool is_held() const { return is_held_; }

private:
    std::atomic<std::uint32_t>& holder_;
    bool is_held_;
};

template <class T>
bool read_memory(int memory, std::uint64_t address, T& value) {
    return ::pread(memory, &value, sizeof value, static_cast<off_t>(address)) ==
           static_cast<ssize_t>(sizeof value);
}

/// Empty: the memory is another image's.
std::vector<Entry> entries_of(int memory, const DefinitionStore& store) {
    const std::uint64_t table = store.channels.load(std::memory_order_acquire);
    const std::uint64_t wanted = store.channels_token.load(std::memory_order_relaxed);
    std::uint64_t token = 0;
    std::uint64_t used = 0;
    if (!read_memory(memory, table + offsetof(ChannelTable, token), token) || token != wanted ||
        !read_memory(memory, table + offsetof(ChannelTable, used), used)) {
        return {};
    }
    std::vector<Entry> entries(std::min<std::uint64_t>(used, ChannelTable::kEntries));
    const std::size_t bytes = entries.size() * sizeof(Entry);
    if (::pread(memory, entries.data(), bytes,
                static_cast<off_t>(table + offsetof(ChannelTable, entries))) !=
        static_cast<ssize_t>(bytes)) {
        return {};
    }
    return entries;
}

void switch_one(int memory, Entry& entry, const std::string& wanted) {
    if (entry.word <= capture::ChannelEntry::kBeingWritten) {
        return;
    }
    entry.name.back() = '\0';
    const std::uint32_t off = capture::is_channel_wanted(entry.name.data(), wanted.c_str()) ? 0 : 1;
    std::uint32_t before = off;
    if (read_memory(memory, entry.word, before) && before != off) {
        // What is not there any more is a module that went without a word.
        static_cast<void>(::pwrite(memory, &off, sizeof off, static_cast<off_t>(entry.word)) ==
                          sizeof off);
    }
}

}  // namespace

void set_wanted_channels(DefinitionStore& store, const std::string& wanted) {
    const std::size_t end = wanted.copy(store.wanted.data(), store.wanted.size() - 1);
    store.wanted[end] = '\0';
}

SwitchOutcome switch_channels(DefinitionStore& store, pid_t pid, int pidfd, bool has_lesser_rights,
                              const std::string& wanted) {
    const HeldChannels held{store};
    if (!held.is_held()) {
        return SwitchOutcome::later;
    }
    if (store.channels.load(std::memory_order_acquire) != 0) {
        const Fd memory{
            ::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC)};
        const bool has_more_rights =
            has_lesser_rights && lesser_rights_in(status_of(pid), nullptr) == nullptr;
        if (!memory.is_open() || has_died(pid, pidfd) || has_more_rights) {
            return SwitchOutcome::refused;
        }
        for (Entry& entry : entries_of(memory.get(), store)) {
            switch_one(memory.get(), entry, wanted);
        }
    }
    set_wanted_channels(store, wanted);
    return SwitchOutcome::done;
}

}  // namespace sample::collector
