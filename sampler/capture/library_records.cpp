#include "sampler/capture/library_records.h"

#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"

#include <dlfcn.h>
#include <link.h>

namespace sample::capture {
bool write_module(Area& area, ThreadState& thread, const ModuleDescription& module) noexcept {
    constexpr std::uint32_t kMaxPath = 1023;
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
    __builtin_memcpy(room.words, &record, sizeof record);
    for (std::uint32_t i = kHeadWords; i < words; ++i) {
        std::uint64_t word = 0;
        for (std::uint32_t byte = 0; byte < 8; ++byte) {
            const std::uint32_t at = (i - kHeadWords) * 8 + byte;
            const auto value = static_cast<std::uint8_t>(at < path_bytes ? module.path[at] : '\0');
            word |= static_cast<std::uint64_t>(value) << (8 * byte);
        }
        room.words[i] = word;
    }
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
        const auto start = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
        if (thread.libraries.add(start)) {
            ModuleDescription module;
            module.start = start;
            module.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
            module.bias = found.dlfo_link_map->l_addr;
            module.flags = kModulePlugin;
            module.path = found.dlfo_link_map->l_name;
            write_module(area, thread, module);
        }
    }
}

}  // namespace sample::capture
