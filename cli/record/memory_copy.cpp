#include "cli/record/memory_copy.h"

#include <new>
#include <utility>
#include <vector>

namespace sample::cli {

std::unique_ptr<trace::RecordSink> MemoryCopy::beside(std::unique_ptr<trace::RecordSink> file) {
    file_ = std::move(file);
    return std::make_unique<trace::Tee>(std::vector<trace::RecordSink*>{file_.get(), this});
}

std::optional<callgraph::Recording> MemoryCopy::take() {
    return std::exchange(copy_, std::nullopt);
}

template <class Add>
void MemoryCopy::add(Add add) {
    if (!copy_) {
        return;
    }
    try {
        add(*copy_);
    } catch (const std::bad_alloc&) {
        drop();
    }
}

void MemoryCopy::record(const trace::Record& record) {
    if (++records_ > kMostRecords) {
        drop();
    }
    add([&](callgraph::Recording& copy) { copy.record(record); });
}

void MemoryCopy::node(const trace::StackNode& node) {
    if (node.id.value > kMostNodes) {
        drop();
    }
    add([&](callgraph::Recording& copy) { copy.node(node); });
}

void MemoryCopy::sample(const trace::Sample& sample) {
    if (sample.metric != trace::kSessionMetric || (copy_ && copy_->weights().size() > kMostNodes)) {
        drop();
    }
    add([&](callgraph::Recording& copy) { copy.sample(sample); });
}

}  // namespace sample::cli
