// dlclose: while a library goes, other threads' walks read only tables of modules that stay.
#include "sampler/agent/modules.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/capture.h"

#include <dlfcn.h>

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_dlclose, "dlclose", int(void*));

}  // namespace
}  // namespace sample::agent

extern "C" SAMPLE_WRAPPER int dlclose(void* handle) noexcept {
    namespace agent = sample::agent;
    if (sample::capture::current_area() == nullptr) {
        return agent::g_dlclose.get()(handle);
    }
    agent::begin_unload();
    const int result = agent::g_dlclose.get()(handle);
    agent::end_unload();
    return result;
}
