#include "cli/options/perf_words.h"

#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sample::cli {
namespace {

enum class Value { none, own, milliseconds };

struct PerfOption {
    std::string_view name;
    std::string_view ours;  ///< Empty: there is none.
    Value value;
    std::string_view says;  ///< Where there is none: why that is, or what else there is.
    bool is_needless;       ///< There is none, and the line is right without.
};

constexpr std::string_view kStacks = "stacks are always taken, leave it out";
constexpr std::string_view kAttach =
    "a process that runs already is recorded with all its threads by sample attach PID";

constexpr PerfOption kPerfOptions[] = {
    {"-F", "--freq", Value::own, "", false},
    {"-e", "--event", Value::own, "", false},
    {"-D", "--delay", Value::milliseconds, "", false},
    {"-q", "--quiet", Value::none, "", false},
    {"-g", "", Value::none, kStacks, true},
    {"--call-graph", "", Value::own, kStacks, true},
    {"-c", "", Value::own, "the period stands behind the event, --event NAME:PERIOD", false},
    {"--count", "", Value::own, "the period stands behind the event, --event NAME:PERIOD", false},
    {"-p", "", Value::own, kAttach, false},
    {"--pid", "", Value::own, kAttach, false},
    {"--tid", "", Value::own, kAttach, false},
    {"-a", "--all", Value::none, "", false},
    {"--all-cpus", "--all", Value::none, "", false},
};

struct PerfVerb {
    std::string_view name;
    std::string_view instead;
};

constexpr PerfVerb kPerfVerbs[] = {
    {"stat",
     "nothing is counted without stacks: sample --event NAME -- COMMAND has an event's count in "
     "its summary, sample --event help lists them"},
};

const PerfOption* find_option(std::string_view word) {
    const auto* const found =
        std::find_if(std::begin(kPerfOptions), std::end(kPerfOptions), [&](const auto& option) {
            if (!word.starts_with(option.name)) {
                return false;
            }
            const std::string_view rest = word.substr(option.name.size());
            const bool is_short = option.name.size() == 2;
            return rest.empty() || is_short || rest.front() == '=';
        });
    return found != std::end(kPerfOptions) ? found : nullptr;
}

/// What is left of words[at] behind the option, or the next word, which it then is at.
std::string take_value(const PerfOption& option, std::vector<std::string>& words, std::size_t& at) {
    std::string value = words[at].substr(option.name.size());
    if (option.value == Value::none && !value.empty()) {
        // More options in the same word.
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, "-" + value);
        return {};
    }
    if (option.value != Value::none && value.empty() && at + 1 < words.size()) {
        value = words[++at];
    }
    value.erase(0, value.starts_with('=') ? 1 : 0);
    return option.value == Value::milliseconds ? value + "ms" : value;
}

}  // namespace

std::optional<Error> explain_perf_options(std::string_view verb, std::vector<std::string> words) {
    // Ours may have values in words of their own, which end where the command surely begins.
    const bool has_separator = std::find(words.begin(), words.end(), "--") != words.end();
    std::vector<std::string> explained;
    std::string line = verb == "record" ? "sample" : fmt::format("sample {}", verb);
    bool can_be_typed = true;
    std::size_t at = 0;
    for (; at < words.size() && words[at] != "--"; ++at) {
        const PerfOption* const option = find_option(words[at]);
        if (option == nullptr && !has_separator && !words[at].starts_with('-')) {
            break;
        }
        if (option == nullptr) {
            line += " " + shell_word(words[at]);
            continue;
        }
        const std::string value = take_value(*option, words, at);
        if (option->ours.empty()) {
            explained.push_back(fmt::format("{}: {}", option->name, option->says));
            can_be_typed = can_be_typed && option->is_needless;
            continue;
        }
        // -a is ours as well: it is not what is wrong.
        if (verb != "record" || option->name != "-a") {
            explained.push_back(fmt::format("{} is {} here", option->name, option->ours));
        }
        line += fmt::format(" {}", option->ours) + (value.empty() ? "" : " " + shell_word(value));
    }
    if (explained.empty()) {
        return std::nullopt;
    }
    for (; at < words.size(); ++at) {
        line += " " + shell_word(words[at]);
    }
    return Error{ErrorCode::invalid_argument, 0,
                 fmt::format("{}\nTry: {}", fmt::join(explained, "; "),
                             can_be_typed ? line : fmt::format("sample {} --help", verb))};
}

std::string_view instead_of_perf_verb(std::string_view verb) {
    const auto* const found = std::find_if(std::begin(kPerfVerbs), std::end(kPerfVerbs),
                                           [&](const PerfVerb& each) { return each.name == verb; });
    return found != std::end(kPerfVerbs) ? found->instead : std::string_view{};
}

}  // namespace sample::cli
