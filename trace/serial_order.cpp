#include "trace/serial_order.h"

#include <utility>

namespace sample::trace {
namespace {

constexpr std::uint64_t kSerials = std::uint64_t{1} << 24;

std::size_t size_of(const KeptEvent& event) {
    return sizeof(event) + event.bytes.size() + event.pieces.size() * sizeof(KeptEvent::Piece);
}

}  // namespace

SerialOrder::Place SerialOrder::place(std::uint32_t serial) {
    if (!has_first_) {
        has_first_ = true;
        next_ = kSerials + serial;  // Room for what came before the first one that is seen.
    }
    const std::uint64_t ahead = (serial - next_) & (kSerials - 1);
    const std::uint64_t number = ahead < kSerials / 2 ? next_ + ahead : next_ + ahead - kSerials;
    if (!is_started_) {
        return {kept_.contains(number) ? Turn::late : Turn::later, number};
    }
    if (number == next_) {
        return {Turn::now, number};
    }
    return {number < next_ || kept_.contains(number) ? Turn::late : Turn::later, number};
}

void SerialOrder::keep(std::uint64_t number, KeptEvent&& event) {
    bytes_ += size_of(event);
    kept_.emplace(number, std::move(event));
}

KeptEvent* SerialOrder::find(std::uint64_t number) {
    const auto found = kept_.find(number);
    return found != kept_.end() ? &found->second : nullptr;
}

std::optional<KeptEvent> SerialOrder::take_next() {
    if (!is_started_ || kept_.empty() || kept_.begin()->first != next_) {
        return std::nullopt;
    }
    KeptEvent event = std::move(kept_.begin()->second);
    bytes_ -= size_of(event);
    kept_.erase(kept_.begin());
    ++next_;
    return event;
}

std::uint64_t SerialOrder::give_up() {
    if (kept_.empty()) {
        return 0;
    }
    const std::uint64_t first = kept_.begin()->first;
    const std::uint64_t lost = is_started_ ? first - next_ : 0;
    is_started_ = true;
    next_ = first;
    return lost;
}

}  // namespace sample::trace
