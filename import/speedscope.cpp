#include "import/speedscope.h"

#include "import/profile_maker.h"
#include "import/speedscope_document.h"
#include "import/text_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

constexpr double kMaxWeight = 4.6e18;  // Below 2^62.

/// Nanoseconds in a unit of time; none for what is none.
std::optional<double> nanoseconds_in(std::string_view unit) {
    constexpr double kMicrosecond = 1e3;
    constexpr double kMillisecond = 1e6;
    constexpr double kSecond = 1e9;
    if (unit == "nanoseconds") {
        return 1;
    }
    if (unit == "microseconds") {
        return kMicrosecond;
    }
    if (unit == "milliseconds") {
        return kMillisecond;
    }
    return unit == "seconds" ? std::optional{kSecond} : std::nullopt;
}

/// "app, worker (pid 1, tid 2)", as we name profiles; anything else is a thread's name as it is.
ThreadKey thread_of(std::string_view name) {
    ThreadKey key;
    key.name = name;
    const std::size_t pid = name.rfind(" (pid ");
    const std::size_t tid = name.rfind(", tid ");
    if (pid == std::string_view::npos || tid == std::string_view::npos || tid < pid ||
        !name.ends_with(')')) {
        return key;
    }
    constexpr std::size_t kWord = 6;
    const auto pid_number = to_number(name.substr(pid + kWord, tid - pid - kWord));
    const auto tid_number = to_number(name.substr(tid + kWord, name.size() - tid - kWord - 1));
    constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
    if (!pid_number || !tid_number || *pid_number > kMax32 || *tid_number > kMax32) {
        return key;
    }
    key.pid = static_cast<std::uint32_t>(*pid_number);
    key.tid = static_cast<std::uint32_t>(*tid_number);
    key.name = name.substr(0, pid);
    const std::size_t comma = key.name.find(", ");
    if (comma != std::string_view::npos) {
        key.process = key.name.substr(0, comma);
        key.name = key.name.substr(comma + 2);
    }
    return key;
}

class Reader {
public:
    Reader(const SpeedscopeDocument& document, const Options& options)
        : document_{document}, maker_{options}, places_(document.stacks.size()) {}

    Result<callgraph::Profile> read() &&;

private:
    using Place = ProfileMaker::Place;

    /// Valid for one profile, so that a file of many profiles and many stacks clears nothing.
    struct KnownPlace {
        std::size_t profile = kNoProfile;
        Place place = 0;
    };
    static constexpr std::size_t kNoProfile = std::numeric_limits<std::size_t>::max();

    void choose_unit();
    void make_functions();
    Result<void> take(std::size_t index);
    Result<void> take_samples(const SpeedscopeProfile& profile, const std::string& place);
    /// A frame of an evented profile that has begun, and not ended.
    struct Open {
        std::uint32_t frame = 0;
        Place place = 0;
    };
    /// What is wrong with `event`, behind one at `at`; empty: nothing.
    [[nodiscard]] std::string_view problem_of(const SpeedscopeEvent& event,
                                              const std::vector<Open>& open, double at) const;
    void take_event(const SpeedscopeEvent& event, std::vector<Open>& open, double at);
    Result<void> take_events(const SpeedscopeProfile& profile, const std::string& place);
    /// The place of each stack below `category`; made when it is asked for.
    Place place_of(std::uint32_t stack);
    /// In nanoseconds, or counts.
    [[nodiscard]] double scaled(double value) const { return value * factor_; }
    /// Adds what is between two points of a thread's axis.
    void add(Place place, double from, double to, std::uint64_t samples);

    const SpeedscopeDocument& document_;
    ProfileMaker maker_;
    std::string_view unit_;
    bool is_time_ = false;
    double factor_ = 1;
    double start_ = 0;  ///< The earliest begin of a profile that is kept.
    double end_ = 0;
    std::vector<FunctionId> functions_;  ///< By frame.
    std::vector<KnownPlace> places_;     ///< By stack.
    std::size_t profile_ = 0;            ///< The current one.
    std::uint32_t thread_ = 0;
    std::uint64_t gap_ns_ = 0;
    bool is_rounded_ = false;
};

void Reader::choose_unit() {
    const auto& profiles = document_.profiles;
    if (profiles.empty()) {
        return;
    }
    unit_ = profiles[document_.active < profiles.size() ? document_.active : 0].unit;
    const auto nanoseconds = nanoseconds_in(unit_);
    is_time_ = nanoseconds.has_value();
    factor_ = nanoseconds.value_or(1);
    callgraph::Profile& profile = maker_.profile();
    if (!is_time_) {
        profile.event = unit_ == "bytes" ? "bytes" : "speedscope";
        profile.unit = unit_ == "bytes" ? "bytes" : "counts";
    }
    std::optional<double> start;
    std::size_t others = 0;
    for (const SpeedscopeProfile& each : profiles) {
        if (each.unit == unit_) {
            start = std::min(start.value_or(each.start), each.start);
            end_ = std::max(end_, each.end);
        } else {
            ++others;
        }
    }
    start_ = start.value_or(0);
    if (others != 0) {
        profile.stats.notes.push_back(std::to_string(others) + " profiles with other units than " +
                                      std::string{unit_} + " were left out");
    }
}

void Reader::make_functions() {
    for (const SpeedscopeFrame& frame : document_.frames) {
        FunctionKey key;
        key.name = frame.name;
        key.source = frame.file;
        key.line = frame.line <= std::numeric_limits<std::uint32_t>::max()
                       ? static_cast<std::uint32_t>(frame.line)
                       : 0;
        functions_.push_back(maker_.function(key));
    }
}

Reader::Place Reader::place_of(std::uint32_t stack) {
    // Stacks are numbered callers first; the ones that have no place yet are walked up, then down.
    std::vector<std::uint32_t> missing;
    while (places_[stack].profile != profile_) {
        missing.push_back(stack);
        stack = document_.stacks[stack].below;
    }
    Place place = places_[stack].place;
    while (!missing.empty()) {
        const std::uint32_t frame = document_.stacks[missing.back()].frame - 1;
        place = maker_.child(place, functions_[frame]);
        places_[missing.back()] = {profile_, place};
        missing.pop_back();
    }
    return place;
}

void Reader::add(Place place, double from, double to, std::uint64_t samples) {
    // Ends are rounded, not lengths: so the lengths of a profile add up to its own.
    const double begin = std::round(scaled(from - start_));
    const double end = std::round(scaled(to - start_));
    is_rounded_ = is_rounded_ || (!is_time_ && (begin != from - start_ || end != to - start_));
    const auto weight = static_cast<std::uint64_t>(end - begin);
    std::optional<std::int64_t> time_ns;
    if (is_time_) {
        time_ns = static_cast<std::int64_t>(end);
    }
    maker_.add(place, weight, samples, thread_, time_ns);
}

Unexpected wrong(const std::string& place, std::string_view what) {
    return unexpected(ErrorCode::corrupt, std::string{place}.append(": ").append(what));
}

std::string numbered(std::string_view what, std::size_t index) {
    return std::string{what}.append("[").append(std::to_string(index)).append("]");
}

Result<void> Reader::take_samples(const SpeedscopeProfile& profile, const std::string& place) {
    double at = profile.start;
    for (std::size_t i = 0; i < profile.samples.size(); ++i) {
        const double weight = profile.weights[i];
        if (!(weight >= 0) || scaled(std::abs(at - start_) + weight) > kMaxWeight) {
            return wrong(place + numbered(".weights", i), "negative, or more than 62 bits");
        }
        const double end = at + weight;
        if (profile.samples[i] != 0) {
            add(place_of(profile.samples[i]), at, end, 1);
        } else {
            gap_ns_ += static_cast<std::uint64_t>(scaled(weight));
        }
        at = end;
        if (!maker_.problem().empty()) {
            return wrong(place + numbered(".samples", i), maker_.problem());
        }
    }
    return {};
}

std::string_view Reader::problem_of(const SpeedscopeEvent& event, const std::vector<Open>& open,
                                    double at) const {
    if (!(event.at >= at)) {
        return "is before the one it follows";
    }
    if (event.frame >= document_.frames.size()) {
        return "names a frame that is not there";
    }
    if (!event.is_open && open.empty()) {
        return "ends a frame where none has begun";
    }
    if (!event.is_open && open.back().frame != event.frame) {
        return "ends another frame than the innermost";
    }
    return scaled(event.at - start_) > kMaxWeight ? "is later than 62 bits can say" : "";
}

void Reader::take_event(const SpeedscopeEvent& event, std::vector<Open>& open, double at) {
    if (!open.empty() && event.at > at) {
        add(open.back().place, at, event.at, 0);
    }
    if (!event.is_open) {
        open.pop_back();
        return;
    }
    const Place below = open.empty() ? places_[0].place : open.back().place;
    open.push_back({event.frame, maker_.child(below, functions_[event.frame])});
}

Result<void> Reader::take_events(const SpeedscopeProfile& profile, const std::string& place) {
    std::vector<Open> open;
    double at = profile.start;
    for (std::size_t i = 0; i < profile.events.size(); ++i) {
        const SpeedscopeEvent& event = profile.events[i];
        std::string_view problem = problem_of(event, open, at);
        if (problem.empty()) {
            take_event(event, open, at);
            problem = maker_.problem();
        }
        if (!problem.empty()) {
            return wrong(place + numbered(".events", i), problem);
        }
        at = event.at;
    }
    return open.empty() ? Result<void>{} : wrong(place, "its last event leaves a frame open");
}

Result<void> Reader::take(std::size_t index) {
    const SpeedscopeProfile& profile = document_.profiles[index];
    if (profile.unit != unit_) {
        return {};
    }
    const std::string place = numbered("profiles", index);
    if (std::abs(scaled(profile.start)) > kMaxWeight ||
        std::abs(scaled(profile.end)) > kMaxWeight) {
        return wrong(place, "startValue or endValue has more than 62 bits");
    }
    thread_ = maker_.thread(thread_of(profile.name));
    profile_ = index;
    places_[0] = {profile_, maker_.category_of_thread(thread_)};
    return profile.is_evented ? take_events(profile, place) : take_samples(profile, place);
}

Result<callgraph::Profile> Reader::read() && {
    for (const SpeedscopeStack& stack : document_.stacks.entries()) {
        if (stack.frame > document_.frames.size()) {
            return unexpected(ErrorCode::corrupt, "a sample names frame " +
                                                      std::to_string(stack.frame - 1) + " of " +
                                                      std::to_string(document_.frames.size()));
        }
    }
    choose_unit();
    make_functions();
    for (std::size_t i = 0; i < document_.profiles.size(); ++i) {
        if (auto taken = take(i); !taken) {
            return unexpected(taken.error());
        }
    }
    callgraph::Profile& profile = maker_.profile();
    profile.command_line = document_.name;
    if (is_time_ && end_ > start_) {
        profile.stats.wall_ns = static_cast<std::uint64_t>(scaled(end_ - start_));
    }
    if (gap_ns_ != 0) {
        profile.stats.notes.push_back(std::to_string(gap_ns_) + (is_time_ ? " ns" : " counts") +
                                      " of samples without a frame were taken for gaps");
    }
    if (is_rounded_) {
        profile.stats.notes.emplace_back("weights with fractions were rounded to whole numbers");
    }
    return std::move(maker_).finish();
}

}  // namespace

Result<callgraph::Profile> read_speedscope(std::string_view text, const Options& options) {
    const Result<SpeedscopeDocument> document = parse_speedscope(text);
    if (!document) {
        return unexpected(document.error());
    }
    return Reader{*document, options}.read();
}

}  // namespace sample::imports
