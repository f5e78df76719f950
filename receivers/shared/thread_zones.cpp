#include "receivers/shared/thread_zones.h"

#include "receivers/shared/names.h"
#include "receivers/shared/text.h"

#include <cstdarg>

namespace sample::receivers {
namespace {

__attribute__((format(printf, 2, 3))) void warn(const char* category, const char* format, ...) {
    const sample_trace_place place = {
        format, category, nullptr, 0, 0, SAMPLE_TRACE_KIND_LOG, SAMPLE_TRACE_WARNING, 0, 0};
    const std::uint32_t definition = sample_trace_module.functions->define(&place);
    if (definition == 0) {
        return;
    }
    std::va_list arguments;
    va_start(arguments, format);
    sample_trace_module.functions->message(definition, format, arguments);
    va_end(arguments);
}

}  // namespace

bool ThreadZones::end_below(std::uint64_t key) noexcept {
    if (beyond_ > 0) {
        --beyond_;
        return true;
    }
    for (std::uint32_t level = depth_; level-- > 0;) {
        Entry& entry = entries_[level];
        if (entry.key == key && !entry.has_ended) {
            entry.has_ended = true;
            return true;
        }
    }
    return false;
}

std::uint32_t ThreadZones::open(std::uint64_t key) const noexcept {
    std::uint32_t found = 0;
    for (std::uint32_t level = 0; level < depth_; ++level) {
        found += entries_[level].key == key && !entries_[level].has_ended ? 1 : 0;
    }
    return found;
}

void Unmatched::count() noexcept {
    const std::uint64_t count = count_.fetch_add(1, std::memory_order_relaxed) + 1;
    const Text text = Text::joined({receiver_, ": ends without a beginning"});
    const sample_trace_functions* const agent = sample_trace_module.functions;
    agent->count(definition_of(SAMPLE_TRACE_KIND_INTEGER, *name_of(text.view()), nullptr), count);
    if (count == 1) {
        warn(receiver_,
             "something ends that has not begun on its thread: nothing is written for it. Look at "
             "the program's pairs of begin and end");
    }
}

}  // namespace sample::receivers
