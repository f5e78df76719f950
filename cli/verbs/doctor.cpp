// `sample doctor`: what this machine allows, what --source auto takes, what would improve it.
#include "cli/views/doctor.h"

#include "analysis/symbolize_recording.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "core/option_values.h"
#include "sampler/collector/sampling_price.h"
#include "sampler/source/capabilities.h"

#include <unistd.h>

#include <atomic>

namespace sample::cli {

namespace {

NameCacheState name_cache_state() {
    NameCacheState state;
    state.folder = symbolize::SymbolCache::default_folder();
    if (const auto cache = analysis::user_cache(true)) {
        const symbolize::CacheUse use = cache->use();
        state.is_used = true;
        state.files = use.modules;
        state.bytes = use.bytes;
    }
    return state;
}

}  // namespace

Result<int> run(const DoctorOptions& options) {
    source::Capabilities capabilities = source::probe_capabilities();
    const control::Source source = source::choose_source(capabilities).source;
    if (capabilities.process.tracer_pid == 0) {  // else each signal would stop us
        const std::atomic<bool> is_over{false};
        if (const auto signal = source::measure_signal_cost(source, kDefaultFrequencyHz, is_over)) {
            capabilities.sample_cost = collector::cost_of_sample(*signal, source);
        }
    }
    SAMPLE_CHECK(write_to_stdout(options.json
                                     ? doctor_json(capabilities, name_cache_state())
                                     : doctor_view(capabilities, name_cache_state(),
                                                   detect_terminal(STDOUT_FILENO, options.color))));
    return kExitOk;
}

}  // namespace sample::cli
