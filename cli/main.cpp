// `sample`: reads the command line and runs one verb.
#include "cli/options/command_line.h"
#include "cli/output.h"
#include "cli/record/collect.h"
#include "cli/verbs/verbs.h"

#include <cstdlib>
#include <exception>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace sample::cli {
namespace {

int run(const Invocation& invocation) {
    return std::visit(
        [](const auto& options) {
            using Options = std::decay_t<decltype(options)>;
            if constexpr (std::is_same_v<Options, RecordOptions>) {
                return run_record(options);
            } else {
                // Not for record: the command would inherit the ignored signal.
                ignore_broken_pipes();
                ignore_size_limit();
                if constexpr (std::is_same_v<Options, ReportOptions>) {
                    return run_report(options);
                } else if constexpr (std::is_same_v<Options, AnnotateOptions>) {
                    return run_annotate(options);
                } else if constexpr (std::is_same_v<Options, DiffVerbOptions>) {
                    return run_diff(options);
                } else if constexpr (std::is_same_v<Options, ExportOptions>) {
                    return run_export(options);
                } else if constexpr (std::is_same_v<Options, ImportOptions>) {
                    return run_import(options);
                } else if constexpr (std::is_same_v<Options, DoctorOptions>) {
                    return run_doctor(options);
                } else {
                    return write_to_stdout(options.text);
                }
            }
        },
        invocation);
}

int main_without_exceptions(const std::vector<std::string>& words) {
    if (words.size() == 2 && words[0] == "collect") {
        return run_collect(std::atoi(words[1].c_str()));
    }
    const Result<Invocation> invocation = parse_command_line(words);
    if (!invocation) {
        // The hint is its last line.
        const std::string message = invocation.error().message();
        const std::size_t hint = message.rfind("\nTry: sample ");
        print_error(message.substr(0, hint),
                    hint == std::string::npos ? std::vector<std::string>{}
                                              : std::vector<std::string>{message.substr(hint + 1)});
        return kExitUsage;
    }
    return run(*invocation);
}

}  // namespace
}  // namespace sample::cli

int main(int argc, char** argv) {
    try {
        return sample::cli::main_without_exceptions(
            std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    } catch (const std::exception& error) {
        // Out of memory, or a library's fault: our own code throws nothing.
        sample::cli::print_error(std::string{"cannot go on: "} + error.what());
        return sample::cli::kExitFailure;
    }
}
