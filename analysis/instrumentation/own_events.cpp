#include "analysis/instrumentation/own_events.h"

#include "core/units.h"

#include <algorithm>
#include <variant>

namespace sample::analysis {

double OwnEventTotals::per_second() const {
    return timed < 2 || last_ns == first_ns
               ? 0
               : static_cast<double>(timed - 1) * double{kNsPerSecond} /
                     static_cast<double>(last_ns - first_ns);
}

void OwnEvents::instrumentation(const trace::Instrumentation& said) {
    if (const auto* const event = std::get_if<trace::RaisedEvent>(&said)) {
        add(*event);
    } else if (const auto* const type = std::get_if<trace::EventTypeSpec>(&said)) {
        totals_.resize(std::max<std::size_t>(totals_.size(), type->id.value));
        totals_[type->id.value - 1].type = *type;
    }
}

void OwnEvents::add(const trace::RaisedEvent& event) {
    const bool is_timed = event.time_ns != 0;
    if (event.scope == trace::ScopeKind::leave ||
        (is_inside_ && (!is_timed || !is_inside_(event.time_ns)))) {
        return;
    }
    OwnEventTotals& of = totals_[event.type.value - 1];
    ++of.count;
    of.scopes += event.scope == trace::ScopeKind::enter ? 1 : 0;
    of.bytes += event.fixed.size();
    for (const trace::RaisedEvent::Variable& variable : event.variable) {
        of.bytes += variable.data.size();
    }
    if (is_timed) {
        ++of.timed;
        of.first_ns = std::min(of.first_ns, event.time_ns);
        of.last_ns = std::max(of.last_ns, event.time_ns);
    }
    if (!event.thread.is_none()) {
        of.threads.insert(event.thread);
    }
}

std::vector<OwnEventTotals> OwnEvents::finish() && {
    std::erase_if(totals_, [](const OwnEventTotals& of) { return of.count == 0; });
    std::stable_sort(totals_.begin(), totals_.end(),
                     [](const OwnEventTotals& left, const OwnEventTotals& right) {
                         return left.count > right.count;
                     });
    return std::move(totals_);
}

}  // namespace sample::analysis
