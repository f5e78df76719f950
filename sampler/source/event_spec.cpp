#include "sampler/source/event_spec.h"

#include "core/fd.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace sample::source {
namespace {

// Weights of a recording are below 2^62; a thousand samples of it still have to add up.
constexpr std::uint64_t kMaxPeriod = 1'000'000'000'000;

// Occurrences that are as frequent as instructions, or as rare as cache misses.
constexpr std::uint64_t kFrequent = 1'000'003;
constexpr std::uint64_t kSparse = 10'007;
/// Fewer than the handler itself causes would leave the program no time.
constexpr std::uint64_t kLeastFrequent = 50'000;
constexpr std::uint64_t kLeastSparse = 500;

struct Known {
    std::string_view name;
    std::string_view unit;  ///< Empty: the name.
    std::uint32_t type;
    std::uint64_t config;
    std::uint64_t period;
    std::uint64_t least;
    bool in_kernel = false;
};

constexpr std::uint32_t kHardware = PERF_TYPE_HARDWARE;
constexpr std::uint32_t kSoftware = PERF_TYPE_SOFTWARE;
constexpr auto kKnown = std::to_array<Known>({
    {"cpu-clock", "ns", kSoftware, PERF_COUNT_SW_CPU_CLOCK, 0, 0},
    {"task-clock", "ns", kSoftware, PERF_COUNT_SW_TASK_CLOCK, 0, 0},
    {"page-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS, 1, 1},
    {"minor-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, 1},
    {"major-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, 1},
    {"context-switches", "", kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 1, true},
    {"cpu-migrations", "", kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS, 1, 1, true},
    {"alignment-faults", "", kSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1, 1},
    {"emulation-faults", "", kSoftware, PERF_COUNT_SW_EMULATION_FAULTS, 1, 1},
    {"cycles", "", kHardware, PERF_COUNT_HW_CPU_CYCLES, kFrequent, kLeastFrequent},
    {"instructions", "", kHardware, PERF_COUNT_HW_INSTRUCTIONS, kFrequent, kLeastFrequent},
    {"cache-references", "", kHardware, PERF_COUNT_HW_CACHE_REFERENCES, kSparse, kLeastSparse},
    {"cache-misses", "", kHardware, PERF_COUNT_HW_CACHE_MISSES, kSparse, kLeastSparse},
    {"branches", "", kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, kFrequent, kLeastFrequent},
    {"branch-misses", "", kHardware, PERF_COUNT_HW_BRANCH_MISSES, kSparse, kLeastSparse},
    {"bus-cycles", "", kHardware, PERF_COUNT_HW_BUS_CYCLES, kFrequent, kLeastFrequent},
    {"stalled-cycles-frontend", "", kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, kFrequent,
     kLeastFrequent},
    {"stalled-cycles-backend", "", kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, kFrequent,
     kLeastFrequent},
    {"ref-cycles", "", kHardware, PERF_COUNT_HW_REF_CPU_CYCLES, kFrequent, kLeastFrequent},
});

struct Alias {
    std::string_view name;
    std::string_view stands_for;
};
constexpr auto kAliases = std::to_array<Alias>({{"faults", "page-faults"},
                                                {"cs", "context-switches"},
                                                {"migrations", "cpu-migrations"},
                                                {"cpu-cycles", "cycles"},
                                                {"branch-instructions", "branches"}});

struct Word {
    std::string_view name;
    std::uint64_t id;
};
constexpr auto kCaches = std::to_array<Word>({{"L1-dcache", PERF_COUNT_HW_CACHE_L1D},
                                              {"L1-icache", PERF_COUNT_HW_CACHE_L1I},
                                              {"LLC", PERF_COUNT_HW_CACHE_LL},
                                              {"dTLB", PERF_COUNT_HW_CACHE_DTLB},
                                              {"iTLB", PERF_COUNT_HW_CACHE_ITLB},
                                              {"branch", PERF_COUNT_HW_CACHE_BPU},
                                              {"node", PERF_COUNT_HW_CACHE_NODE}});
constexpr auto kCacheOperations = std::to_array<Word>({
    {"-loads", PERF_COUNT_HW_CACHE_OP_READ << 8U},
    {"-stores", PERF_COUNT_HW_CACHE_OP_WRITE << 8U},
    {"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8U},
    {"-load-misses", PERF_COUNT_HW_CACHE_OP_READ << 8U | PERF_COUNT_HW_CACHE_RESULT_MISS << 16U},
    {"-store-misses", PERF_COUNT_HW_CACHE_OP_WRITE << 8U | PERF_COUNT_HW_CACHE_RESULT_MISS << 16U},
    {"-prefetch-misses",
     PERF_COUNT_HW_CACHE_OP_PREFETCH << 8U | PERF_COUNT_HW_CACHE_RESULT_MISS << 16U},
});

Unexpected refuse(ErrorCode code, std::string_view event, const std::string& why) {
    return unexpected(code, "--event " + std::string{event} + " " + why);
}

/// What a known name stands for, with its default period, and the least that it may be.
struct Found {
    EventSpec spec;
    std::uint64_t least = 1;
};

std::optional<Found> find_known(std::string_view name) {
    for (const Alias& alias : kAliases) {
        name = name == alias.name ? alias.stands_for : name;
    }
    const auto at =
        std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.name == name; });
    if (at == kKnown.end()) {
        return std::nullopt;
    }
    Found found;
    found.spec.name = at->name;
    found.spec.unit = at->unit.empty() ? at->name : at->unit;
    found.spec.type = at->type;
    found.spec.config = at->config;
    found.spec.period = at->period;
    found.spec.is_clock = at->period == 0;
    found.spec.in_kernel = at->in_kernel;
    found.least = at->least;
    return found;
}

Found counted_event(std::string_view name, std::uint32_t type, std::uint64_t config) {
    Found found;
    found.spec.name = name;
    found.spec.unit = "events";
    found.spec.type = type;
    found.spec.config = config;
    found.spec.is_clock = false;
    found.spec.period = kFrequent;
    found.least = kLeastSparse;
    return found;
}

std::optional<Found> find_cache_event(std::string_view name) {
    for (const Word& cache : kCaches) {
        if (!name.starts_with(cache.name)) {
            continue;
        }
        for (const Word& operation : kCacheOperations) {
            if (name.substr(cache.name.size()) == operation.name) {
                Found found = counted_event(name, PERF_TYPE_HW_CACHE, cache.id | operation.id);
                found.spec.unit = name;
                found.spec.period = name.ends_with("-misses") ? kSparse : kFrequent;
                return found;
            }
        }
    }
    return std::nullopt;
}

/// "r1a8": an event of this processor's manual.
std::optional<Found> find_raw_event(std::string_view name) {
    constexpr int kHex = 16;
    std::uint64_t config = 0;
    const char* end = name.data() + name.size();
    if (name.size() < 2 || name[0] != 'r') {
        return std::nullopt;
    }
    const auto parsed = std::from_chars(name.data() + 1, end, config, kHex);
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
        return std::nullopt;
    }
    return counted_event(name, PERF_TYPE_RAW, config);
}

/// A name of a folder of tracefs: nothing that leads out of it.
bool is_tracepoint_word(std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

/// 0 and the id, or an errno.
int read_tracepoint_id(const std::string& path, std::uint64_t& id) {
    const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file.is_open()) {
        return errno;
    }
    std::array<char, 32> text{};
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    if (size <= 0) {
        return size < 0 ? errno : EIO;
    }
    return std::from_chars(text.data(), text.data() + size, id).ec == std::errc{} ? 0 : EIO;
}

Result<Found> find_tracepoint(std::string_view group, std::string_view name,
                              std::string_view tracefs) {
    const std::string event = std::string{group} + ":" + std::string{name};
    if (!is_tracepoint_word(group) || !is_tracepoint_word(name)) {
        return refuse(ErrorCode::invalid_argument, event,
                      "is no tracepoint: write group:name, e.g. sched:sched_switch");
    }
    const std::string place = "/events/" + std::string{group} + "/" + std::string{name} + "/id";
    std::uint64_t id = 0;
    int failure = read_tracepoint_id(std::string{tracefs} + place, id);
    if (failure == ENOENT) {
        const int second = read_tracepoint_id(std::string{kDebugfsTracing} + place, id);
        failure = second == ENOENT ? failure : second;
    }
    if (failure == EACCES || failure == EPERM) {
        return refuse(ErrorCode::permission, event,
                      "is a tracepoint, whose number only root may read: run sample as root");
    }
    if (failure != 0) {
        const bool is_mounted = ::access((std::string{tracefs} + "/events").c_str(), F_OK) == 0;
        return refuse(ErrorCode::not_found, event,
                      is_mounted ? "is not there: `ls " + std::string{tracefs} +
                                       "/events` lists the groups of tracepoints"
                                 : "needs tracefs, which is not mounted: sudo mount -t tracefs "
                                   "none " +
                                       std::string{tracefs});
    }
    Found found = counted_event(event, PERF_TYPE_TRACEPOINT, id);
    found.spec.period = 1;
    found.spec.in_kernel = true;
    found.least = 1;
    return found;
}

/// "10k", "1M", "500"; nothing if it is no number, kMaxPeriod + 1 if it is too great.
std::optional<std::uint64_t> parse_period(std::string_view text) {
    constexpr std::uint64_t kStep = 1000;
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ptr == text.data()) {
        return std::nullopt;
    }
    std::uint64_t unit = 1;
    const std::string_view suffix{parsed.ptr, static_cast<std::size_t>(end - parsed.ptr)};
    if (suffix == "k" || suffix == "K") {
        unit = kStep;
    } else if (suffix == "M") {
        unit = kStep * kStep;
    } else if (suffix == "G") {
        unit = kStep * kStep * kStep;
    } else if (!suffix.empty()) {
        return std::nullopt;
    }
    const bool fits = parsed.ec == std::errc{} && value <= kMaxPeriod / unit;
    return fits ? value * unit : kMaxPeriod + 1;
}

/// What stands between the colons.
struct Parts {
    std::string_view name;
    std::string_view tracepoint;  ///< Empty: `name` is no group.
    std::string_view period;
};

Parts split(std::string_view text) {
    Parts parts;
    const std::size_t last = text.rfind(':');
    if (last != std::string_view::npos && parse_period(text.substr(last + 1))) {
        parts.period = text.substr(last + 1);
        text = text.substr(0, last);
    }
    const std::size_t colon = text.find(':');
    parts.name = text.substr(0, colon);
    if (colon != std::string_view::npos) {
        parts.tracepoint = text.substr(colon + 1);
    }
    return parts;
}

Result<Found> find(const Parts& parts, std::string_view tracefs) {
    if (!parts.tracepoint.empty()) {
        return find_tracepoint(parts.name, parts.tracepoint, tracefs);
    }
    for (const auto& look : {find_known, find_cache_event, find_raw_event}) {
        if (auto found = look(parts.name)) {
            return std::move(*found);
        }
    }
    return refuse(ErrorCode::invalid_argument, "'" + std::string{parts.name} + "'",
                  "is not known: `sample --event help` lists what is");
}

}  // namespace

Result<EventSpec> parse_event(std::string_view text, std::string_view tracefs) {
    const Parts parts = split(text);
    Result<Found> found = find(parts, tracefs);
    if (!found) {
        return Unexpected{found.error()};
    }
    EventSpec spec = std::move(found->spec);
    if (parts.period.empty()) {
        return spec;
    }
    if (spec.is_clock) {
        return refuse(
            ErrorCode::invalid_argument, text,
            "has a period, but " + spec.name + " goes by time: say how often with --freq");
    }
    const std::uint64_t period = parse_period(parts.period).value_or(0);
    if (period < found->least || period > kMaxPeriod) {
        return refuse(ErrorCode::invalid_argument, text,
                      "has a period outside " + std::to_string(found->least) + " to " +
                          std::to_string(kMaxPeriod) + ": leave it out for " +
                          std::to_string(spec.period));
    }
    spec.period = period;
    return spec;
}

std::string known_events() {
    return "Events: cpu-clock (the default) and task-clock; page-faults, minor-faults,\n"
           "major-faults, context-switches, cpu-migrations, alignment-faults, emulation-faults;\n"
           "cycles, instructions, cache-references, cache-misses, branches, branch-misses,\n"
           "bus-cycles, ref-cycles, stalled-cycles-frontend, stalled-cycles-backend;\n"
           "L1-dcache-loads, LLC-load-misses, dTLB-store-misses and the like; rNNN (hexadecimal, "
           "from\nthe processor's manual); a tracepoint, group:name. Each but the clocks may end "
           "in :PERIOD";
}

}  // namespace sample::source
