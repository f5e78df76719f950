#include "sampler/capture/libraries.h"

#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/raw_syscall.h"
#include "unwind/walk/stack_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <climits>

namespace sample::capture {
namespace {

// One word for two counts, so that a sample writes to it twice and not four times: who is inside,
// and above it who of them reads.
constexpr std::uint64_t kInside = 1;
constexpr std::uint64_t kReads = std::uint64_t{1} << 32;

/// Each thread counts in one of these, mostly alone: a word that every sample of every thread
/// changes would go from one processor's cache to the next all the time.
struct alignas(64) Counter {
    std::atomic<std::uint64_t> counts{0};
};
constexpr unsigned kCounterBits = 6;
constexpr std::uint32_t kMaxPath = PATH_MAX - 1;
constinit std::array<Counter, std::size_t{1} << kCounterBits> g_counters{};

constinit std::atomic<std::uint32_t> g_unloads{0};
constinit std::atomic<bool> g_was_read_in_unload{false};
/// Of g_unloads, those of this thread.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local std::uint32_t t_unloads = 0;
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local InterruptibleReader* t_interruptible = nullptr;

/// By the stack, as no two threads share one. Any counter is right for any thread: where two meet
/// is no matter.
std::size_t index_by(const void* frame) noexcept {
    constexpr unsigned kSmallestStackBits = 14;
    return (reinterpret_cast<std::uint64_t>(frame) >> kSmallestStackBits) * 0x9e3779b97f4a7c15U >>
           (64U - kCounterBits);
}

bool can_read(const void* bytes) noexcept {
    return unwind::readable_page(reinterpret_cast<std::uint64_t>(bytes));
}

/// Up to its end, or as much of it as is kept.
bool can_read_path(const char* path) noexcept {
    constexpr std::uint64_t kPage = 4096;
    if (!can_read(path)) {
        return false;
    }
    for (std::uint32_t i = 0; i < kMaxPath && path[i] != '\0'; ++i) {
        const char* const next = path + i + 1;
        if (reinterpret_cast<std::uint64_t>(next) % kPage == 0 && !can_read(next)) {
            return false;
        }
    }
    return true;
}

/// Sees each counter once as it is to be: whoever counts there later sees g_unloads changed, too. A
/// thread counts for some microseconds of each period, so that moment comes.
template <class Done>
void wait_until(const Done& done) noexcept {
    for (const Counter& counter : g_counters) {
        while (!done(counter.counts.load(std::memory_order_seq_cst))) {
            sleep_briefly();
        }
    }
}

/// Of the library that is mapped there, as it lies in memory: its file may be another one by now.
/// Empty if it has none, or that cannot be read. Source: gABI, Note Section.
std::span<const std::uint8_t> build_id_at(std::uint64_t start, std::uint64_t end,
                                          std::uint64_t bias) noexcept {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint32_t kGnu = 0x00554e47;
    constexpr std::uint64_t kHeadBytes = sizeof(ElfW(Nhdr)) + sizeof kGnu;
    for (const ElfW(Phdr) & header : unwind::mapped_headers(start)) {
        std::uint64_t at = bias + header.p_vaddr;
        const std::uint64_t notes_end = at + header.p_memsz;
        if (header.p_type != PT_NOTE || header.p_memsz > kPage || at < start || notes_end > end ||
            !unwind::readable_page(at) || !unwind::readable_page(notes_end - 1)) {
            continue;
        }
        while (at + kHeadBytes <= notes_end) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const std::uint64_t bytes = at + sizeof *note + ((note->n_namesz + 3ULL) & ~3ULL);
            const std::uint64_t next = bytes + ((note->n_descsz + 3ULL) & ~3ULL);
            if (next > notes_end) {
                break;
            }
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof kGnu &&
                *reinterpret_cast<const std::uint32_t*>(note + 1) == kGnu) {
                return {reinterpret_cast<const std::uint8_t*>(bytes), note->n_descsz};
            }
            at = next;
        }
    }
    return {};
}

}  // namespace

LibraryReader::LibraryReader(Of thread) noexcept : index_{index_by(this)} {
    // Sequentially consistent with close_library_guard(): either it sees this reader, or this sees
    // the unload.
    std::atomic<std::uint64_t>& counts = g_counters[index_].counts;
    counts.fetch_add(kInside + kReads, std::memory_order_seq_cst);
    const std::uint32_t unloads = g_unloads.load(std::memory_order_seq_cst);
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): it must come second.
    allowed_ =
        unloads == 0 || (thread == Of::program && has_thread_locals() && unloads == t_unloads);
    if (!allowed_) {
        counts.fetch_sub(kReads, std::memory_order_release);
    } else if (unloads != 0) {
        g_was_read_in_unload.store(true, std::memory_order_relaxed);
    }
}

LibraryReader::~LibraryReader() {
    leave();
}

void LibraryReader::leave() noexcept {
    if (is_inside_) {
        is_inside_ = false;
        g_counters[index_].counts.fetch_sub(allowed_ ? kInside + kReads : kInside,
                                            std::memory_order_release);
    }
}

InterruptibleReader::InterruptibleReader() noexcept {
    t_interruptible = this;
}

InterruptibleReader::~InterruptibleReader() {
    t_interruptible = nullptr;
}

void InterruptibleReader::give_up() noexcept {
    if (t_interruptible != nullptr) {
        t_interruptible->leave();
    }
}

void close_library_guard(Unloader unloader) noexcept {
    InterruptibleReader::give_up();
    g_unloads.fetch_add(1, std::memory_order_seq_cst);
    wait_until([](std::uint64_t counts) { return counts < kReads; });
    t_unloads += unloader == Unloader::this_thread ? 1 : 0;
}

void open_library_guard() noexcept {
    --t_unloads;
    g_unloads.fetch_sub(1, std::memory_order_seq_cst);
}

bool was_read_in_unload() noexcept {
    return g_was_read_in_unload.exchange(false, std::memory_order_relaxed);
}

void wait_until_all_are_out() noexcept {
    InterruptibleReader::give_up();
    // As for an unload: who is not seen here sees that word changed, and what was written before.
    g_unloads.fetch_add(1, std::memory_order_seq_cst);
    wait_until([](std::uint64_t counts) { return counts == 0; });
    g_unloads.fetch_sub(1, std::memory_order_seq_cst);
}

void reset_library_guard() noexcept {
    t_interruptible = nullptr;
    for (Counter& counter : g_counters) {
        counter.counts.store(0, std::memory_order_relaxed);
    }
    g_unloads.store(t_unloads, std::memory_order_relaxed);
}

bool write_module(Area& area, ThreadState& thread, const ModuleDescription& module) noexcept {
    constexpr std::uint32_t kHeadWords = sizeof(ModuleRecord) / 8;
    ModuleRecord record;
    std::uint32_t path_bytes = 0;
    while (path_bytes < kMaxPath && module.path[path_bytes] != '\0') {
        ++path_bytes;
    }
    record.ticks = read_ticks();
    record.start = module.start;
    record.end = module.end;
    record.bias = module.bias;
    record.flags = module.flags;
    std::uint16_t id_bytes = 0;
    while (id_bytes < module.build_id_bytes && id_bytes < record.build_id.size()) {
        record.build_id[id_bytes] = module.build_id[id_bytes];
        ++id_bytes;
    }
    const std::uint32_t words = kHeadWords + (path_bytes + 7) / 8;
    record.head = {RecordKind::module, static_cast<std::uint16_t>(words),
                   static_cast<std::uint16_t>(path_bytes), id_bytes};
    const Reservation room = reserve_anywhere(area, thread, words);
    if (room.words == nullptr) {
        return false;
    }
    room.words[words - 1] = 0;  // behind the path's end
    __builtin_memcpy(room.words, &record, sizeof record);
    __builtin_memcpy(room.words + kHeadWords, module.path, path_bytes);
    commit(thread, room);
    return true;
}

void forget_unloaded_libraries(Area& area, ThreadState& thread, std::uint64_t generation) noexcept {
    if (thread.libraries.generation() != generation) {
        thread.libraries.reset(generation);
        write_record(area, thread, UnloadRecord{});
    }
}

void report_new_libraries(Area& area, ThreadState& thread, const unwind::ModuleTable& modules,
                          std::span<const FrameAddress> frames) noexcept {
    for (const FrameAddress frame : frames) {
        const std::uint64_t pc = frame.lookup_pc().value;
        dl_find_object found;
        if (frame.is_elided() || modules.find(Pc{pc}) != nullptr ||
            _dl_find_object(reinterpret_cast<void*>(pc), &found) != 0 ||
            found.dlfo_link_map == nullptr) {
            continue;
        }
        // The loader's own, which a library that is unloaded past dlclose() takes along.
        const auto start = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
        if (thread.libraries.add(start) && can_read(found.dlfo_link_map) &&
            can_read_path(found.dlfo_link_map->l_name)) {
            ModuleDescription module;
            module.start = start;
            module.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
            module.bias = found.dlfo_link_map->l_addr;
            module.flags = kModulePlugin;
            module.path = found.dlfo_link_map->l_name;
            const auto build_id = build_id_at(module.start, module.end, module.bias);
            module.build_id = build_id.data();
            module.build_id_bytes = build_id.size();
            write_module(area, thread, module);
        }
    }
}

}  // namespace sample::capture
