#include "sampler/attach/event_records.h"

#include "core/address.h"
#include "sampler/attach/event_ring.h"
#include "sampler/source/perf_event.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace sample::attach {
namespace {

// Bits of uapi/asm/perf_regs.h: ax bx cx dx si di bp sp ip are 0–8, r8–r15 are 16–23.
constexpr std::uint64_t kRegisterBits = 0xff01ff;
// DWARF numbers of these bits, ascending.
constexpr std::array<std::uint8_t, unwind::Registers::kCount> kDwarfOrder{
    0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};

// What the third word of a sample is, where there are several events: of switches and of the clock
// PERF_SAMPLE_PERIOD, which is 1 of switches; of wakings PERF_SAMPLE_ADDR, as they have none.
constexpr std::uint64_t kIsWaking = 0;
constexpr std::uint64_t kIsLeaving = 1;

/// Of a fork and of an end, which are laid out alike.
struct Task {
    pid_t pid;
    pid_t parent;
    pid_t tid;
    std::uint64_t time_ns;
};

pid_t take_id(Fields& fields) {
    return static_cast<pid_t>(fields.take<std::uint32_t>());
}

Task decode_task(Fields fields) {
    Task task{};
    task.pid = take_id(fields);
    task.parent = take_id(fields);
    task.tid = take_id(fields);
    static_cast<void>(take_id(fields));
    task.time_ns = fields.take<std::uint64_t>();
    return task;
}

std::string_view text_in(std::span<const std::byte> bytes) {
    const auto* const begin = reinterpret_cast<const char*>(bytes.data());
    const char* const end = begin + bytes.size();
    return {begin, static_cast<std::size_t>(std::find(begin, end, '\0') - begin)};
}

/// Behind its thread, time, and what tells that it is a sample of this kind.
StackSample decode_stack(StackSample sample, Fields fields, bool with_count,
                         const EventWishes& wishes) {
    if (with_count) {
        sample.counted_ns = fields.take<std::uint64_t>();
        static_cast<void>(fields.take<std::uint64_t>());  // for how long it was enabled
        static_cast<void>(fields.take<std::uint64_t>());  // and running
    }
    if (wishes.with_kernel_frames) {
        const auto words = fields.take<std::uint64_t>();
        if (words > fields.rest().size() / sizeof words) {
            return sample;
        }
        sample.kernel_chain = fields.rest().first(words * sizeof words);
        fields = Fields{fields.rest().subspan(sample.kernel_chain.size())};
    }
    sample.has_registers = fields.take<std::uint64_t>() == PERF_SAMPLE_REGS_ABI_64;
    if (!sample.has_registers) {
        return sample;
    }
    for (const std::uint8_t reg : kDwarfOrder) {
        sample.registers.value[reg] = fields.take<std::uint64_t>();
    }
    const auto room = fields.take<std::uint64_t>();
    if (room != 0 && room + 8 <= fields.rest().size()) {
        const auto copied = Fields{fields.rest().subspan(room)}.take<std::uint64_t>();
        if (copied <= room) {
            sample.stack = fields.rest().first(copied);
            sample.is_cut_off = copied == room;
        }
    }
    return sample;
}

/// Source: Linux include/linux/trace_events.h, trace_entry; include/trace/events/sched.h.
Waking decode_waking(pid_t waker, Fields fields) {
    constexpr std::uint8_t kInInterrupt = 0x08 | 0x10;  // TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ
    static_cast<void>(fields.take<std::uint32_t>());    // how much follows
    static_cast<void>(fields.take<std::uint16_t>());    // which tracepoint
    const auto flags = fields.take<std::uint8_t>();
    static_cast<void>(fields.take<std::uint8_t>());
    static_cast<void>(take_id(fields));
    constexpr int kWordsOfName = 2;
    for (int word = 0; word < kWordsOfName; ++word) {
        static_cast<void>(fields.take<std::uint64_t>());
    }
    return {take_id(fields), (flags & kInInterrupt) == 0 ? std::max(waker, 0) : 0};
}

void decode_sample(Fields fields, const EventWishes& wishes, std::size_t ring, EventSink& sink) {
    StackSample sample;
    sample.ring = ring;
    sample.pid = take_id(fields);
    sample.tid = take_id(fields);
    sample.time_ns = fields.take<std::uint64_t>();
    const auto which = wishes.with_switches ? fields.take<std::uint64_t>() : wishes.period_ns;
    if (wishes.with_switches && which == kIsWaking) {
        sink.on_waking(decode_waking(sample.tid, fields));
    } else if (wishes.with_switches && which == kIsLeaving) {
        sink.on_leaving(decode_stack(sample, fields, false, wishes));
    } else {
        sink.on_sample(decode_stack(sample, fields, wishes.with_count, wishes));
    }
}

Switch decode_switch(Fields fields, std::uint16_t misc) {
    Switch change;
    change.pid = take_id(fields);
    change.tid = take_id(fields);
    change.time_ns = fields.take<std::uint64_t>();
    change.is_in = (misc & PERF_RECORD_MISC_SWITCH_OUT) == 0;
    change.is_preempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    return change;
}

NewCode decode_code(Fields fields) {
    NewCode code;
    code.pid = take_id(fields);
    static_cast<void>(take_id(fields));
    code.start = fields.take<std::uint64_t>();
    code.size = fields.take<std::uint64_t>();
    code.file_offset = fields.take<std::uint64_t>();
    // The file's device, inode and generation, or its build-id; protection and flags.
    constexpr int kWords = 4;
    for (int word = 0; word < kWords; ++word) {
        static_cast<void>(fields.take<std::uint64_t>());
    }
    code.path = text_in(fields.rest());
    return code;
}

void decode_name(Fields fields, bool is_exec, std::uint64_t time_ns, EventSink& sink) {
    const pid_t pid = take_id(fields);
    const pid_t tid = take_id(fields);
    if (is_exec) {
        sink.on_exec(pid, text_in(fields.rest()), time_ns);
    } else {
        sink.on_name(pid, tid, text_in(fields.rest()));
    }
}

}  // namespace

void append_kernel_frames(const StackSample& sample, std::vector<std::uint64_t>& frames) {
    // Above it are marks of whose frames follow, and no addresses.
    constexpr auto kMarks = static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
    const std::size_t before = frames.size();
    for (Fields words{sample.kernel_chain}; !words.rest().empty();) {
        const auto word = words.take<std::uint64_t>();
        if (word >= kMarks) {
            continue;
        }
        // The innermost one is where the processor was; the others are return addresses.
        frames.push_back(frames.size() == before ? FrameAddress{Pc{word}}.bits()
                                                 : FrameAddress{ReturnAddress{word}}.bits());
    }
    std::reverse(frames.begin() + static_cast<std::ptrdiff_t>(before), frames.end());
}

perf_event_attr attributes_of(const EventWishes& wishes) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = wishes.period_ns;
    attributes.sample_type =
        PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    if (wishes.with_count) {
        attributes.sample_type |= PERF_SAMPLE_READ;
    }
    if (wishes.with_switches) {
        attributes.sample_type |= PERF_SAMPLE_PERIOD;
    }
    if (wishes.with_kernel_frames) {
        attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
        attributes.exclude_callchain_user = 1;
    }
    attributes.sample_regs_user = kRegisterBits;
    attributes.sample_stack_user = wishes.stack_bytes;
    attributes.read_format = source::kReadFormat;
    attributes.sample_id_all = 1;
    attributes.inherit = wishes.of_machine ? 0 : 1;
    attributes.inherit_thread = wishes.with_children ? 0 : 1;
    attributes.exclude_idle = wishes.of_machine ? 1 : 0;
    attributes.exclude_kernel = wishes.exclude_kernel ? 1 : 0;
    attributes.exclude_hv = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    // Nobody waits to be woken: rings are read so often that they do not fill up.
    attributes.watermark = 1;
    attributes.wakeup_watermark = static_cast<std::uint32_t>(wishes.ring_bytes);
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    return attributes;
}

perf_event_attr switch_attributes_of(const EventWishes& wishes) {
    perf_event_attr attributes = attributes_of(wishes);
    attributes.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attributes.sample_period = 1;
    attributes.sample_type &= ~std::uint64_t{PERF_SAMPLE_READ};
    attributes.context_switch = 1;
    // The clock's event tells of these.
    attributes.mmap = 0;
    attributes.mmap2 = 0;
    attributes.comm = 0;
    attributes.comm_exec = 0;
    attributes.task = 0;
    return attributes;
}

perf_event_attr waking_attributes_of(const EventWishes& wishes, std::uint64_t id) {
    perf_event_attr attributes = switch_attributes_of(wishes);
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.sample_type =
        PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_RAW;
    attributes.sample_regs_user = 0;
    attributes.sample_stack_user = 0;
    attributes.exclude_callchain_user = 0;
    attributes.context_switch = 0;
    attributes.inherit = 0;
    attributes.inherit_thread = 0;
    attributes.exclude_idle = 0;
    return attributes;
}

std::uint64_t time_of(std::span<const std::byte> record) noexcept {
    // A sample's time follows its thread.
    return Fields{record}.take<perf_event_header>().type == PERF_RECORD_SAMPLE
               ? Fields{record.subspan(sizeof(perf_event_header) + 8)}.take<std::uint64_t>()
               : Fields{record.last(8)}.take<std::uint64_t>();
}

void decode(std::span<const std::byte> record, const EventWishes& wishes, std::size_t ring,
            EventSink& sink) {
    Fields fields{record};
    const auto header = fields.take<perf_event_header>();
    switch (header.type) {
        case PERF_RECORD_SAMPLE:
            decode_sample(fields, wishes, ring, sink);
            break;
        case PERF_RECORD_SWITCH_CPU_WIDE:
            static_cast<void>(fields.take<std::uint64_t>());  // who comes, or has left
            [[fallthrough]];
        case PERF_RECORD_SWITCH:
            sink.on_switch(decode_switch(fields, header.misc));
            break;
        case PERF_RECORD_MMAP2:
            sink.on_new_code(decode_code(fields));
            break;
        case PERF_RECORD_FORK: {
            const Task task = decode_task(fields);
            sink.on_start(task.parent, task.pid, task.tid, task.time_ns);
            break;
        }
        case PERF_RECORD_EXIT: {
            const Task task = decode_task(fields);
            sink.on_end(task.pid, task.tid, task.time_ns);
            break;
        }
        case PERF_RECORD_COMM:
            decode_name(fields, (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0, time_of(record),
                        sink);
            break;
        case PERF_RECORD_LOST:
            static_cast<void>(fields.take<std::uint64_t>());
            sink.on_lost(fields.take<std::uint64_t>());
            break;
        default:
            break;
    }
}

}  // namespace sample::attach
