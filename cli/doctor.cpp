// `sample doctor`: what this machine allows, what --source auto takes, what would improve it.
#include "cli/doctor_view.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "sampler/source/capabilities.h"

#include <unistd.h>

namespace sample::cli {

int run_doctor(const DoctorOptions& options) {
    const sampler::Capabilities capabilities = sampler::probe_capabilities();
    const std::string text =
        options.json ? doctor_json(capabilities)
                     : doctor_view(capabilities, detect_terminal(STDOUT_FILENO, options.color));
    return write_to_stdout(text);
}

}  // namespace sample::cli
