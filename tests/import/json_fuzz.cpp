// Any bytes: the reader refuses them or gives a profile whose sums agree, and what is written from
// that profile reads back as the same.
#include "export/formats.h"
#include "import/readers.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using sample::callgraph::Profile;

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

std::string write(const Profile& profile) {
    std::string text;
    require(
        sample::exports::write_script_profiler_json(profile, sample::exports::to_string_sink(text))
            .has_value());
    return text;
}

void require_sums(const Profile& profile) {
    for (const auto& node : profile.nodes) {
        std::uint64_t sum_ns = node.self;
        for (const sample::NodeId child : profile.children(node)) {
            sum_ns += profile.node(child).total;
        }
        require(sum_ns == node.total);
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto profile = sample::imports::read_script_profiler_json(text);
    if (!profile) {
        require(!profile.error().context.empty());
        return 0;
    }
    require_sums(*profile);
    const std::string written = write(*profile);
    const auto back = sample::imports::read_script_profiler_json(written);
    require(back.has_value());
    require(write(*back) == written);
    std::string folded;
    require(sample::exports::write_folded(*profile, sample::exports::to_string_sink(folded))
                .has_value());
    return 0;
}
