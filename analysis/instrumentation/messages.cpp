#include "analysis/instrumentation/messages.h"

#include "trace/message_text.h"

#include <algorithm>

namespace sample::analysis {

void Messages::finish() {
    std::stable_sort(messages_.begin(), messages_.end(),
                     [](const trace::Message& left, const trace::Message& right) {
                         return left.time_ns < right.time_ns;
                     });
}

Messages::Line Messages::line(std::size_t index) const {
    static const trace::MessageSpec not_defined{
        {}, false, {}, trace::Verbosity::log, "[message without a text]", {}, 0};
    const trace::Message& message = messages_[index];
    const auto known = specs_.find(message.spec);
    const trace::MessageSpec& spec = known == specs_.end() ? not_defined : known->second;
    return {message.time_ns, message.thread, &spec,
            trace::message_text(spec.format, message.arguments)};
}

}  // namespace sample::analysis
