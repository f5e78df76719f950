#include "sampler/attach/wakers.h"

#include "sampler/collector/process/proc_files.h"
#include "trace/records.h"

namespace sample::attach {

std::string Wakers::text_of(pid_t waker) const {
    if (waker == 0) {
        return "an interrupt";
    }
    if (named_ >= kMostNamed) {
        return "others";
    }
    const auto known = names_.find(waker);
    const std::string name =
        known != names_.end() ? known->second : collector::thread_name_of(waker, waker);
    return (name.empty() ? "a thread that has ended," : name) + " " + std::to_string(waker);
}

void Wakers::look_again() {
    frames_.clear();
    for (const pid_t tid : ended_) {
        names_.erase(tid);
    }
    ended_.clear();
}

ModuleId Wakers::frame_of(pid_t waker) {
    if (const auto known = frames_.find(waker); known != frames_.end()) {
        return known->second;
    }
    trace::Module module;
    module.kind = trace::ModuleKind::pseudo;
    module.path = trace::kWokenBy + text_of(waker) + "]";
    named_ += recorder_.known_module(module).is_none() ? 1 : 0;
    return frames_[waker] = recorder_.module(module);
}

}  // namespace sample::attach
