// Any bytes: they are refused with a reason, or make trees whose ids are all there.
#include "sample/profiling_info.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using sample::profiler::Child;
    std::string problem;
    const auto info = sample::profiler::deserialize(
        std::string_view{reinterpret_cast<const char*>(data), size}, &problem);
    require(info.has_value() == problem.empty());
    if (!info) {
        return 0;
    }
    std::size_t links = info->categories.size();
    for (const auto& node : info->nodes) {
        require(node.duration <= node.total_duration);
        links += node.children.size();
        for (const Child child : node.children) {
            require(child.node_id - 1 < info->nodes.size());
            require(child.function_id - 1 < info->functions.size());
        }
    }
    require(links <= info->nodes.size());
    return 0;
}
