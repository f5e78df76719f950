// libunwind's accessors; the contract is in the header.
#include "tests/unwind/differential/reference.h"

#include <libunwind.h>

#include <array>
#include <cstring>

// Exported for exactly this use, but only declared in libunwind's private headers.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace sample::unwind::differential {

namespace {

constexpr std::uint64_t kLargestStack = std::uint64_t{8} << 20;
constexpr std::uint64_t kRedZone = 4096;
constexpr std::size_t kCachedRules = 4096;

// .eh_frame_hdr as linkers write it: version 1, pcrel sdata4, udata4, datarel sdata4.
constexpr std::array<std::uint8_t, 4> kHeaderStart{1, 0x1b, 0x03, 0x3b};
constexpr std::uint64_t kHeaderBytes = 12;

struct Walked {
    const Process& process;
    const ModuleTable& modules;
    const Registers& registers;
    std::span<const std::byte> stack;
    bool no_rule = false;  ///< Since the last step.
    BadRead bad_read = BadRead::none;
};

Walked& walked_of(void* argument) {
    return *static_cast<Walked*>(argument);
}

int find_proc_info(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t* out, int need_info,
                   void* argument) {
    Walked& walked = walked_of(argument);
    const Module* module = walked.modules.find(Pc{pc});
    const std::byte* header = module == nullptr || module->header_size < kHeaderBytes
                                  ? nullptr
                                  : walked.process.bytes_at(module->header, kHeaderBytes);
    if (header == nullptr || std::memcmp(header, kHeaderStart.data(), kHeaderStart.size()) != 0) {
        walked.no_rule = true;
        return -UNW_ENOINFO;
    }
    std::uint32_t count = 0;
    std::memcpy(&count, header + 8, sizeof(count));
    unw_dyn_info_t info{};
    info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    info.start_ip = module->span.begin;
    info.end_ip = module->span.end;
    info.u.rti.segbase = module->header;
    info.u.rti.table_data = module->header + kHeaderBytes;
    // In words; an entry is one.
    info.u.rti.table_len = count;
    const int result =
        UNW_OBJ(dwarf_search_unwind_table)(space, pc, &info, out, need_info, argument);
    walked.no_rule |= result != 0;
    return result;
}

int access_mem(unw_addr_space_t /*space*/, unw_word_t address, unw_word_t* value, int write,
               void* argument) {
    Walked& walked = walked_of(argument);
    if (write != 0) {
        return -UNW_EREADONLYREG;
    }
    const std::uint64_t sp = walked.registers.sp();
    const std::size_t size = walked.stack.size();
    if (address >= sp && size >= sizeof(*value) && address - sp <= size - sizeof(*value)) {
        std::memcpy(value, &walked.stack[address - sp], sizeof(*value));
        return 0;
    }
    if (const std::byte* bytes = walked.process.bytes_at(address, sizeof(*value))) {
        std::memcpy(value, bytes, sizeof(*value));
        return 0;
    }
    if (walked.bad_read == BadRead::none) {
        walked.bad_read = sp - address <= kRedZone                   ? BadRead::below_stack
                          : address - sp - size + 8 <= kLargestStack ? BadRead::beyond_stack
                                                                     : BadRead::elsewhere;
    }
    return -UNW_EINVAL;
}

int access_reg(unw_addr_space_t /*space*/, unw_regnum_t reg, unw_word_t* value, int write,
               void* argument) {
    // libunwind numbers registers as DWARF does.
    if (write != 0 || reg < 0 || static_cast<std::size_t>(reg) >= Registers::kCount) {
        return -UNW_EBADREG;
    }
    *value = walked_of(argument).registers.value[static_cast<std::size_t>(reg)];
    return 0;
}

unw_accessors_t accessors() {
    unw_accessors_t table{};
    table.find_proc_info = find_proc_info;
    table.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
    table.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) {
        return -UNW_ENOINFO;
    };
    table.access_mem = access_mem;
    table.access_reg = access_reg;
    table.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
        return -UNW_EBADREG;
    };
    table.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
    table.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
        return -UNW_ENOINFO;
    };
    return table;
}

}  // namespace

Reference::Reference(bool cached) : space_{nullptr} {
    unw_accessors_t table = accessors();
    space_ = unw_create_addr_space(&table, 0);
    unw_set_caching_policy(space_, cached ? UNW_CACHE_GLOBAL : UNW_CACHE_NONE);
    if (cached) {
        unw_set_cache_size(space_, kCachedRules, 0);
    }
}

Reference::~Reference() {
    unw_destroy_addr_space(space_);
}

void Reference::walk(Process& process, const Registers& registers, std::span<const std::byte> stack,
                     std::size_t limit, ReferenceWalk& out) {
    out.frames.clear();
    out.first_guess = ReferenceWalk::kNever;
    Walked walked{process, process.modules(), registers, stack};
    if (generation_ != walked.modules.generation()) {
        generation_ = walked.modules.generation();
        unw_flush_cache(space_, 0, 0);
    }
    unw_cursor_t cursor;
    out.end = unw_init_remote(&cursor, space_, &walked);
    if (out.end != 0) {
        return;
    }
    do {
        unw_word_t pc = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        if (walked.no_rule && out.first_guess == ReferenceWalk::kNever) {
            out.first_guess = out.frames.size();
        }
        out.frames.push_back(pc);
        walked.no_rule = false;
        walked.bad_read = BadRead::none;
        out.end = unw_step(&cursor);
    } while (out.end > 0 && out.frames.size() < limit);
    if (walked.no_rule && out.first_guess == ReferenceWalk::kNever) {
        out.first_guess = out.frames.size();
    }
    out.bad_read = walked.bad_read;
}

}  // namespace sample::unwind::differential
