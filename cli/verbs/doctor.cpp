// `sample doctor`: what this machine allows, what --source auto takes, what would improve it.
#include "cli/views/doctor.h"

#include "analysis/name_cache.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "sampler/source/capabilities.h"

#include <unistd.h>

namespace sample::cli {

namespace {

NameCacheState name_cache_state() {
    NameCacheState state;
    state.folder = symbolize::SymbolCache::default_folder();
    if (const auto cache = analysis::user_cache(true)) {
        const symbolize::CacheUse use = cache->use();
        state.is_used = true;
        state.files = use.files;
        state.bytes = use.bytes;
    }
    return state;
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
    const source::Capabilities capabilities = source::probe_capabilities();
    const std::string text = options.json
                                 ? doctor_json(capabilities, name_cache_state())
                                 : doctor_view(capabilities, name_cache_state(),
                                               detect_terminal(STDOUT_FILENO, options.color));
    return write_to_stdout(text);
}

}  // namespace sample::cli
