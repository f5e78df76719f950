// dlclose: while a library goes, the walk reads only tables of modules that stay.
#include "sampler/agent/export.h"
#include "sampler/agent/modules.h"
#include "sampler/agent/real.h"
#include "sampler/capture/capture.h"

#include <dlfcn.h>

namespace sample::agent {
namespace {

SAMPLE_REAL constinit Real<int(void*)> g_dlclose{"dlclose"};

}  // namespace
}  // namespace sample::agent

extern "C" SAMPLE_WRAPPER int dlclose(void* handle) noexcept {
    namespace agent = sample::agent;
    if (sample::capture::current_area() == nullptr) {
        return agent::g_dlclose.get()(handle);
    }
    agent::begin_unload();
    const int result = agent::g_dlclose.get()(handle);
    sample::capture::end_unload();
    return result;
}
