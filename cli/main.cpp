// `sample`: reads the command line and runs one verb.
#include "cli/enough_stack.h"
#include "cli/output.h"
#include "cli/record/inherited.h"
#include "cli/record/last_resort.h"
#include "cli/roomy_heap.h"
#include "cli/verbs/verbs.h"

#include <cstdlib>
#include <exception>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace sample::cli {
namespace {

Result<int> run(const Text& text) {
    SAMPLE_CHECK(write_to_stdout(text.text));
    return kExitOk;
}

Result<int> run_any(const Invocation& invocation) {
    return std::visit(
        [](const auto& options) {
            // Not for those who run a command: it would inherit the ignored signal.
            using Options = std::decay_t<decltype(options)>;
            if constexpr (!std::is_same_v<Options, RecordOptions> &&
                          !std::is_same_v<Options, TopOptions>) {
                ignore_broken_pipes();
                ignore_size_limit();
            }
            // Nor for those who record: theirs is small while they do.
            if constexpr (!std::is_same_v<Options, RecordOptions> &&
                          !std::is_same_v<Options, TopOptions> &&
                          !std::is_same_v<Options, AttachOptions>) {
                make_heap_roomy();
            }
            return run(options);
        },
        invocation);
}

int main_without_exceptions(const std::vector<std::string>& words) {
    const auto is_number = [](const std::string& word) {
        return word.find_first_not_of("0123456789") == std::string::npos;
    };
    // Else it is a program that is called so.
    if ((words.size() == 2 || words.size() == 3) && words[0] == "collect" && is_number(words[1])) {
        return run_collect(std::atoi(words[1].c_str()),
                           words.size() == 3 ? std::atoi(words[2].c_str()) : 0);
    }
    if (const auto command = attended(words)) {
        return attend(*command);
    }
    if (words.size() > 2 && words[0] == "complete" && words[1] == "--") {
        // For the shells' completions.
        return write_to_stdout(suggest({words.begin() + 2, words.end()})) ? kExitOk : kExitFailure;
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
    const Result<int> code = run_any(*invocation);
    if (!code) {
        print_error(code.error().message());
    }
    return code ? *code : kExitFailure;
}

int main_on_any_stack(const std::vector<std::string>& words) {
    try {
        return main_without_exceptions(words);
    } catch (const std::exception& error) {
        // Out of memory, or a library's fault: our own code throws nothing.
        if (is_guarding()) {
            leave_to_itself(error.what());
        }
        print_error(std::string{"cannot go on: "} + error.what());
        return kExitFailure;
    }
}

}  // namespace
}  // namespace sample::cli

int main(int argc, char** argv) {
    sample::cli::fill_standard_descriptors();
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    int code = sample::cli::kExitFailure;
    sample::cli::on_enough_stack([&] { code = sample::cli::main_on_any_stack(words); });
    return code;
}
