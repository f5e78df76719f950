#include "sampler/collector/control/control_command.h"

#include "core/option_values.h"
#include "sampler/capture/definition_store.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

namespace sample::collector {
namespace {

constexpr std::size_t kMostTokenBytes = 64;

struct Word {
    std::string_view name;
    ControlVerb verb;
    bool takes_frequency = false;
    bool takes_time = false;
};
constexpr Word kWords[] = {
    {"status", ControlVerb::status},
    {"start", ControlVerb::start, true, true},
    {"stop", ControlVerb::stop},
    {"pause", ControlVerb::pause},
    {"resume", ControlVerb::resume},
    {"freq", ControlVerb::frequency, true},
    {"time", ControlVerb::time, false, true},
    {"cancel", ControlVerb::cancel},
    {"channels", ControlVerb::channels},
    {"dump", ControlVerb::dump},
    {"data", ControlVerb::data},
    {"open", ControlVerb::open, true},
    {"close", ControlVerb::close},
};

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    constexpr std::string_view kBlanks = " \t\r";
    for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(kBlanks, end);
    }
    return words;
}

Unexpected wrong(std::string text) {
    return unexpected(ErrorCode::invalid_argument, std::move(text));
}

Result<void> take_frequency(ControlCommand& command, std::string_view text) {
    const auto hz = parse_frequency(text);
    if (!hz.ok()) {
        return wrong(std::string{kFrequencyHelp});
    }
    if (command.frequency_hz) {
        return wrong("say one frequency");
    }
    command.frequency_hz = hz.value;
    return {};
}

Result<void> take_time(ControlCommand& command, std::string_view text) {
    const auto ns = parse_duration_ns(text);
    if (!ns.ok()) {
        return wrong(std::string{kDurationHelp});
    }
    if (command.time) {
        return wrong("say one duration");
    }
    command.time = std::chrono::nanoseconds{ns.value};
    return {};
}

Result<void> take_channels(ControlCommand& command, std::string_view text) {
    if (!command.channels.empty() || text.size() >= capture::kMostWantedBytes) {
        return wrong("write the channels in one word, separated by commas, of at most " +
                     std::to_string(capture::kMostWantedBytes - 1) + " characters");
    }
    command.channels = text;
    return {};
}

/// A word behind the first one.
Result<void> take(ControlCommand& command, const Word& verb, std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
    if (equals == std::string_view::npos && verb.verb == ControlVerb::frequency) {
        return take_frequency(command, word);
    }
    if (equals == std::string_view::npos && verb.verb == ControlVerb::time) {
        return take_time(command, word);
    }
    if (equals == std::string_view::npos && verb.verb == ControlVerb::channels) {
        return take_channels(command, word);
    }
    if (key == "token" && !value.empty() && value.size() <= kMostTokenBytes) {
        command.token = value;
        return {};
    }
    if (key == "freq" && verb.takes_frequency) {
        return take_frequency(command, value);
    }
    if (key == "time" && verb.takes_time) {
        return take_time(command, value);
    }
    if (word == "bound=1" && verb.verb == ControlVerb::start) {
        command.is_bound = true;
        return {};
    }
    if (key == "pid" && verb.verb == ControlVerb::status) {
        const auto parsed =
            std::from_chars(value.data(), value.data() + value.size(), command.about);
        if (parsed.ec == std::errc{} && parsed.ptr == value.data() + value.size()) {
            return {};
        }
    }
    return wrong("'" + std::string{word} + "' means nothing behind " + std::string{verb.name});
}

}  // namespace

Result<ControlCommand> parse_control_command(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    const auto verb = std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& each) {
        return !words.empty() && each.name == words.front();
    });
    if (verb == std::end(kWords)) {
        return wrong(
            "say status, start, stop, pause, resume, freq, time, cancel, channels, dump, data, "
            "open or close");
    }
    ControlCommand command;
    command.verb = verb->verb;
    for (std::size_t i = 1; i < words.size(); ++i) {
        SAMPLE_CHECK(take(command, *verb, words[i]));
    }
    const bool is_shared = command.verb == ControlVerb::open || command.verb == ControlVerb::close;
    if (command.verb == ControlVerb::frequency && !command.frequency_hz) {
        return wrong(std::string{kFrequencyHelp});
    }
    if (command.verb == ControlVerb::time && !command.time) {
        return wrong(std::string{kDurationHelp});
    }
    if (command.verb == ControlVerb::channels && command.channels.empty()) {
        return wrong("say which channels are to be on, separated by commas, or none");
    }
    if (is_shared && command.token.empty()) {
        return wrong("say token=T, of at most 64 characters");
    }
    return command;
}

}  // namespace sample::collector
