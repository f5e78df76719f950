#include "sampler/collector/joining/spare_area.h"

#include <utility>

namespace sample::collector {
namespace {

void touch(const std::atomic<std::uint32_t>& word) {
    static_cast<void>(word.load(std::memory_order_relaxed));
}

}  // namespace

void SpareArea::prepare(double ticks_per_ns) {
    if (spare_ != nullptr) {
        return;
    }
    auto made = AreaMapping::create(period_ns_, ticks_per_ns, false, max_depth_);
    if (!made) {
        return;  // take() says why
    }
    // The first bits of the bitmaps are the first to be claimed. A read is enough to make a page of
    // a memory file.
    const capture::Area& area = (*made)->area();
    touch(area.slots[0].tid);
    touch(area.chunk(0)->committed);
    spare_ = std::move(*made);
}

Result<std::shared_ptr<AreaMapping>> SpareArea::take(double ticks_per_ns, bool is_root) {
    if (spare_ == nullptr || is_root) {
        return AreaMapping::create(period_ns_, ticks_per_ns, is_root, max_depth_);
    }
    return std::exchange(spare_, nullptr);
}

}  // namespace sample::collector
