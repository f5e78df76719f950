#include "sampler/attach/wakers.h"

#include "sampler/collector/process/proc_files.h"
#include "trace/records.h"

namespace sample::attach {

std::string Wakers::name_of(pid_t waker) const {
    if (waker == 0) {
        return "an interrupt";
    }
    if (named_ >= kMostNamed) {
        return "others";
    }
    const std::string name = collector::thread_name_of(waker, waker);
    return (name.empty() ? "a thread that has ended," : name) + " " + std::to_string(waker);
}

ModuleId Wakers::module_of(pid_t waker) {
    const auto known = modules_.find(waker);
    if (known != modules_.end()) {
        return known->second;
    }
    trace::Module module;
    module.kind = trace::ModuleKind::pseudo;
    module.path = trace::kWokenBy + name_of(waker) + "]";
    named_ += recorder_.known_module(module).is_none() ? 1 : 0;
    return modules_[waker] = recorder_.module(module);
}

NodeId Wakers::below(NodeId sleep, pid_t waker) {
    const NodeId node = recorder_.node(sleep, module_of(waker), 0);
    return node.is_none() ? sleep : node;
}

}  // namespace sample::attach
