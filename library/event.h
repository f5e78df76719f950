// What the public Event stands on.
#pragma once

#include "sample/analysis.hpp"
#include "trace/event_reader.h"

namespace sample::analysis {

struct Event::Impl {
    const trace::EventView& view;
    const trace::EventReader& reader;
};

}  // namespace sample::analysis
