// dlclose: while a library goes, the walk reads only tables of modules that stay.
#include "sampler/agent/export.h"
#include "sampler/agent/modules.h"
#include "sampler/agent/program_view.h"
#include "sampler/agent/real.h"
#include "sampler/capture/capture.h"

#include <dlfcn.h>

namespace sample::agent {
namespace {

constinit Real<int(void*)> g_dlclose{"dlclose"};
constinit SpinLock g_generation_lock;

}  // namespace
}  // namespace sample::agent

extern "C" SAMPLE_WRAPPER int dlclose(void* handle) noexcept {
    namespace agent = sample::agent;
    if (sample::capture::current_area() == nullptr) {
        return agent::g_dlclose.get()(handle);
    }
    agent::g_generation_lock.lock();
    sample::capture::begin_unload(agent::next_generation());
    agent::g_generation_lock.unlock();
    const int result = agent::g_dlclose.get()(handle);
    sample::capture::end_unload();
    return result;
}
