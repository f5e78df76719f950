// Any bytes, by the format that the build chose (none: by their content): refused with a reason, or
// a profile whose sums and times agree, and which can be written as JSON.
#include "callgraph/timeline.h"
#include "export/formats.h"
#include "import/import.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sample::NodeId;
using sample::callgraph::Profile;
using sample::imports::Format;

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

void require_sums(const Profile& profile) {
    std::uint64_t samples = 0;
    for (const auto& node : profile.nodes) {
        std::uint64_t sum_ns = node.self;
        for (const NodeId child : profile.children(node)) {
            sum_ns += profile.node(child).total;
        }
        require(sum_ns == node.total);
        samples += node.self_samples;
        require(node.function.value <= profile.functions.size());
    }
    require(profile.nodes[0].total == profile.stats.sampled);
    require(samples == profile.stats.samples);
    for (const auto& function : profile.functions) {
        require(function.total <= profile.nodes[0].total);
        require(function.self <= function.total);
        require(function.module < profile.modules.size());
    }
}

/// A timeline has every weight of every node.
void require_times(const Profile& profile) {
    if (!profile.timeline) {
        return;
    }
    std::vector<std::uint64_t> timed_ns(profile.nodes.size());
    for (const auto& thread : profile.timeline->threads) {
        require(thread.thread.has_value() && *thread.thread < profile.threads.size());
        std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
        sample::callgraph::TimedWeight sample;
        for (auto reader = thread.samples->read(); reader.next(sample);) {
            require(sample.time_ns >= latest_ns);
            latest_ns = sample.time_ns;
            timed_ns[profile.timeline->nodes.at(sample.place).value] += sample.weight;
        }
    }
    for (std::size_t i = 1; i < profile.nodes.size(); ++i) {
        require(timed_ns[i] == profile.nodes[i].self);
    }
}

#ifdef SAMPLE_FUZZED_FORMATS
constexpr Format kFormats[] = {SAMPLE_FUZZED_FORMATS};
#endif

/// The first byte chooses where there are several.
std::optional<Format> chosen(std::string_view& bytes) {
#ifdef SAMPLE_FUZZED_FORMATS
    constexpr std::size_t kCount = std::size(kFormats);
    if (kCount == 1 || bytes.empty()) {
        return kFormats[0];
    }
    const auto first = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    return kFormats[first % kCount];
#else
    (void)bytes;
    return std::nullopt;
#endif
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const std::optional<Format> format = chosen(bytes);
    constexpr std::size_t kUnpacked = std::size_t{1} << 24;
    for (const bool everything : {false, true}) {
        const auto imported = sample::imports::import_profile(
            bytes, format,
            {.times = everything, .lines = everything, .max_unpacked_bytes = kUnpacked});
        if (!imported) {
            require(!imported.error().context.empty());
            return 0;
        }
        const bool was_read_as_json = imported->format == Format::json;
        if (!was_read_as_json) {
            require_sums(imported->profile);
        }
        require_times(imported->profile);
        std::string json;
        require(sample::exports::write_script_profiler_json(imported->profile,
                                                            sample::exports::to_string_sink(json))
                    .has_value());
    }
    return 0;
}
