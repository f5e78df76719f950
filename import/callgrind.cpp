// callgrind.out files, which have no stacks: only what each function costs itself, and what each
// call from one function to another costs with all that it leads to.
//
// So the tree is a guess, the same that other readers make: of what a function costs, each caller
// has the part that its calls have among all calls of that function, and so on up to the root. What
// a function costs itself is exact, also in recursion, of which the file does not tell how deep it
// is.
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

constexpr std::uint64_t kUndividedPart = 10'000;  ///< Of the whole; see Paths.
constexpr std::size_t kMaxDepth = 500;
constexpr std::string_view kFirstLine = "# callgrind format";
/// The file of a category, as our own export names it.
constexpr std::string_view kCategory = "[category]";

/// "(1) name" names a number, "(1)" is what it was named.
class Names {
public:
    /// False for a number that has no name yet.
    bool read(std::string_view text, std::string& name) {
        text = trimmed(text);
        const std::size_t end = text.find(')');
        const bool has_number = text.starts_with('(') && end != std::string_view::npos &&
                                to_number(text.substr(1, end - 1)).has_value();
        if (!has_number) {
            name = text;
            return true;
        }
        const auto number = *to_number(text.substr(1, end - 1));
        if (const std::string_view given = trimmed(text.substr(end + 1)); !given.empty()) {
            names_[number] = given;
        }
        const auto found = names_.find(number);
        name = found == names_.end() ? std::string{} : found->second;
        return found != names_.end();
    }

private:
    std::unordered_map<std::uint64_t, std::string> names_;
};

struct Position {
    std::string object;
    std::string file;
    std::string function;
};

struct Call {
    std::size_t caller = 0;
    std::uint64_t cost = 0;
};

/// By FunctionId::value - 1.
struct Costs {
    std::uint64_t self = 0;
    std::vector<Call> callers;  ///< The dearest first.
};

/// Finds the stacks of each function's own cost, from it up to the roots.
///
/// A part below a ten-thousandth of the whole is not divided any more, but goes to the dearest
/// caller: paths are as many as there are ways through the program, and these cannot be seen.
/// Where all callers are on the path already, the shortest way to a root follows.
class Paths {
public:
    Paths(const std::vector<Costs>& functions, ProfileMaker& maker);

    void add_all();
    /// Stacks that are too deep, and lack their outer end.
    [[nodiscard]] std::uint64_t cut() const { return cut_; }

private:
    /// A function of the path, with the callers that are still to be gone to.
    struct Step {
        std::size_t function = 0;
        std::vector<Call> callers;  ///< With their parts of the cost; the last is the next.
    };

    void find_shortest_ways();
    void push(std::size_t function, std::uint64_t cost);
    /// The path is a stack, of which the innermost function costs this.
    void add_stack(std::uint64_t cost);

    const std::vector<Costs>& functions_;
    ProfileMaker& maker_;
    std::uint64_t least_divided_ = 1;
    std::vector<std::size_t> nearest_caller_;  ///< On the shortest way to a root; kNone: none.
    std::vector<bool> is_on_path_;
    std::vector<Step> path_;  ///< The innermost function first.
    std::uint64_t cut_ = 0;
};

Paths::Paths(const std::vector<Costs>& functions, ProfileMaker& maker)
    : functions_{functions},
      maker_{maker},
      nearest_caller_(functions.size(), kNone),
      is_on_path_(functions.size()) {
    std::uint64_t total = 0;
    for (const Costs& costs : functions) {
        total += costs.self;
    }
    least_divided_ = std::max<std::uint64_t>(total / kUndividedPart, 1);
    find_shortest_ways();
}

void Paths::find_shortest_ways() {
    std::vector<std::vector<std::size_t>> callees(functions_.size());
    std::vector<std::size_t> reached;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        if (functions_[i].callers.empty()) {
            reached.push_back(i);
        }
        for (const Call& call : functions_[i].callers) {
            callees[call.caller].push_back(i);
        }
    }
    for (std::size_t next = 0; next < reached.size(); ++next) {
        const std::size_t caller = reached[next];
        for (const std::size_t callee : callees[caller]) {
            if (nearest_caller_[callee] == kNone) {
                nearest_caller_[callee] = caller;
                reached.push_back(callee);
            }
        }
    }
}

void Paths::push(std::size_t function, std::uint64_t cost) {
    is_on_path_[function] = true;
    std::vector<Call>& parts = path_.emplace_back(Step{function, {}}).callers;
    const std::vector<Call>& callers = functions_[function].callers;
    const std::size_t most = cost < least_divided_ ? 1 : callers.size();
    double sum = 0;
    for (std::size_t i = 0; i < callers.size() && parts.size() < most; ++i) {
        if (!is_on_path_[callers[i].caller] && path_.size() < kMaxDepth) {
            parts.push_back(callers[i]);
            sum += static_cast<double>(callers[i].cost);
        }
    }
    if (parts.empty()) {
        add_stack(cost);
        return;
    }
    std::uint64_t rest = cost;
    for (Call& part : parts) {
        const double share = static_cast<double>(part.cost) / sum;
        part.cost = std::min(rest, static_cast<std::uint64_t>(static_cast<double>(cost) * share));
        rest -= part.cost;
    }
    parts.front().cost += rest;
}

void Paths::add_stack(std::uint64_t cost) {
    std::vector<std::size_t> outermost_first;
    std::size_t caller = nearest_caller_[path_.back().function];
    while (caller != kNone && outermost_first.size() + path_.size() < kMaxDepth) {
        outermost_first.push_back(caller);
        caller = nearest_caller_[caller];
    }
    cut_ += caller == kNone ? 0U : 1U;
    std::reverse(outermost_first.begin(), outermost_first.end());
    for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
        outermost_first.push_back(step->function);
    }
    const auto id_of = [](std::size_t index) {
        return FunctionId{static_cast<std::uint32_t>(index + 1)};
    };
    std::span<const std::size_t> functions = outermost_first;
    ProfileMaker::Place place;
    if (const auto& outermost = maker_.function(id_of(functions.front()));
        outermost.source == kCategory) {
        place = maker_.category(outermost.name);
        functions = functions.subspan(1);
    } else {
        place = maker_.category("all");
    }
    for (const std::size_t each : functions) {
        place = maker_.child(place, id_of(each));
    }
    maker_.add(place, cost, 0);
}

void Paths::add_all() {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        if (functions_[i].self != 0) {
            push(i, functions_[i].self);
        }
        while (!path_.empty() && maker_.problem().empty()) {
            Step& step = path_.back();
            if (step.callers.empty()) {
                is_on_path_[step.function] = false;
                path_.pop_back();
                continue;
            }
            const Call next = step.callers.back();
            step.callers.pop_back();
            if (next.cost != 0) {
                push(next.caller, next.cost);
            }
        }
    }
}

class Reader {
public:
    explicit Reader(const Options& options) : maker_{options} {}

    Result<callgraph::Profile> read(std::string_view text) &&;

private:
    /// What is wrong with the line; empty: nothing.
    std::string take_line(std::string_view line);
    std::string take_header(std::string_view key, std::string_view value);
    /// Reads what `part` names into the position. False: a number that has no name yet. None: no
    /// such part.
    std::optional<bool> read_name(std::string_view part, std::string_view value,
                                  Position& position);
    std::string take_position(std::string_view key, std::string_view value);
    std::string take_costs(std::string_view line);
    void take_events(std::string_view names);
    /// An index into functions_.
    std::size_t function_at(const Position& position);
    callgraph::Profile finish() &&;

    ProfileMaker maker_;
    Names objects_;
    Names files_;
    Names function_names_;
    Position lines_;  ///< Of the lines of costs; its file is that of callees that name none.
    Position here_;   ///< Of the function that they belong to.
    Position called_;
    std::size_t positions_ = 1;  ///< Words before the costs.
    std::size_t event_ = 0;      ///< Which of the costs is kept.
    std::string event_name_;
    std::uint64_t other_events_ = 0;
    bool is_call_ = false;  ///< The next line of costs is a call's.
    std::vector<Costs> functions_;
    std::unordered_map<std::uint64_t, std::uint64_t> calls_;  ///< Costs by caller and callee.
};

void Reader::take_events(std::string_view names) {
    std::vector<std::string_view> events;
    for (std::string_view rest = trimmed(names); !rest.empty();) {
        const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
        events.push_back(rest.substr(0, end));
        rest = trimmed(rest.substr(end));
    }
    const auto instructions = std::find(events.begin(), events.end(), "Ir");
    event_ = instructions == events.end()
                 ? 0
                 : static_cast<std::size_t>(std::distance(events.begin(), instructions));
    event_name_ = events.empty() ? std::string{} : events[event_];
    other_events_ = events.size() - (events.empty() ? 0 : 1);
}

std::string Reader::take_header(std::string_view key, std::string_view value) {
    if (key == "cmd") {
        maker_.profile().command_line = trimmed(value);
    } else if (key == "events") {
        take_events(value);
    } else if (key == "positions") {
        positions_ = 1 + static_cast<std::size_t>(
                             std::count(trimmed(value).begin(), trimmed(value).end(), ' '));
    }
    return {};
}

std::optional<bool> Reader::read_name(std::string_view part, std::string_view value,
                                      Position& position) {
    if (part == "ob") {
        return objects_.read(value, position.object);
    }
    if (part == "fl" || part == "fi" || part == "fe") {
        return files_.read(value, position.file);
    }
    return part == "fn" ? std::optional{function_names_.read(value, position.function)}
                        : std::nullopt;
}

std::string Reader::take_position(std::string_view key, std::string_view value) {
    if (key == "calls") {
        is_call_ = true;
        return called_.function.empty() ? "calls= without cfn= before it" : std::string{};
    }
    if (key == "jump" || key == "jcnd") {
        return {};
    }
    Position jump;  // not of interest, but its names may be new
    const bool is_call = key.starts_with('c');
    const bool is_jump = key.starts_with('j');
    const auto is_known = read_name(key.substr(is_call || is_jump ? 1 : 0), value,
                                    is_call   ? called_
                                    : is_jump ? jump
                                              : lines_);
    if (!is_known) {
        return "no line of callgrind begins with " + in_quotes(key);
    }
    if (key == "ob" || key == "fl" || key == "fn") {
        here_ = lines_;  // Inlined code, of fi and fe, belongs to the function around it.
    }
    return *is_known ? std::string{} : "this number was not given a name before";
}

std::size_t Reader::function_at(const Position& position) {
    const auto known = [](std::string_view name) { return name == "???" ? "" : name; };
    FunctionKey key;
    key.name = position.function.empty() ? std::string_view{"[unknown]"} : position.function;
    key.source = known(position.file);
    key.module = maker_.module(known(position.object));
    const std::size_t index = maker_.function(key).value - 1;
    functions_.resize(std::max(functions_.size(), index + 1));
    return index;
}

std::string Reader::take_costs(std::string_view line) {
    std::uint64_t cost = 0;
    for (std::size_t word = 0; !line.empty(); ++word) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        const std::string_view text = line.substr(0, end);
        line = trimmed(line.substr(end));
        const auto number = to_number(text);
        if (word >= positions_ && !number) {
            return "must hold costs, not " + in_quotes(text);
        }
        cost = word == positions_ + event_ ? *number : cost;
    }
    const std::size_t here = function_at(here_);
    bool is_too_much = false;
    if (std::exchange(is_call_, false)) {
        called_.object = called_.object.empty() ? here_.object : called_.object;
        called_.file = called_.file.empty() ? lines_.file : called_.file;
        const std::size_t callee = function_at(called_);
        called_ = {};
        // A call of itself says nothing of callers.
        std::uint64_t& sum = calls_[(std::uint64_t{here} << 32U) | callee];
        is_too_much = here != callee && __builtin_add_overflow(sum, cost, &sum);
    } else {
        is_too_much = __builtin_add_overflow(functions_[here].self, cost, &functions_[here].self);
    }
    return is_too_much ? "the sum of all costs needs more than 64 bits" : std::string{};
}

std::string Reader::take_line(std::string_view line) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') {
        return {};
    }
    if (is_digit(line.front()) || std::string_view{"+-*"}.find(line.front()) < 3) {
        return take_costs(line);
    }
    const std::size_t sign = line.find_first_of(":=");
    if (sign == std::string_view::npos) {
        return "neither costs nor a name nor a header of callgrind: " + in_quotes(line);
    }
    const std::string_view key = line.substr(0, sign);
    const std::string_view value = line.substr(sign + 1);
    return line[sign] == ':' ? take_header(key, value) : take_position(key, value);
}

callgraph::Profile Reader::finish() && {
    callgraph::Profile& profile = maker_.profile();
    std::string unit = event_name_;
    std::transform(unit.begin(), unit.end(), unit.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (nanoseconds_in(unit) != 1) {
        profile.event = event_name_;
        profile.metric.unit = event_name_;
    }
    maker_.note_count(other_events_, "other events than " + event_name_ + " were left out");
    profile.stats.notes.emplace_back(
        "callgrind keeps calls, not stacks: what a function costs itself is exact; which of its "
        "callers' callers it was spent for is estimated from the costs of the calls");
    return std::move(maker_).finish();
}

Result<callgraph::Profile> Reader::read(std::string_view text) && {
    Lines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        if (const std::string problem = take_line(line); !problem.empty()) {
            return lines.wrong(problem);
        }
    }
    if (event_name_.empty()) {
        return unexpected(ErrorCode::corrupt, "it does not name its events (events: Ir)");
    }
    for (const auto& [key, cost] : calls_) {
        if (cost != 0) {
            functions_[static_cast<std::uint32_t>(key)].callers.push_back(
                {static_cast<std::size_t>(key >> 32U), cost});
        }
    }
    for (Costs& each : functions_) {
        std::sort(each.callers.begin(), each.callers.end(), [](const Call& a, const Call& b) {
            return a.cost != b.cost ? a.cost > b.cost : a.caller < b.caller;
        });
    }
    Paths paths{functions_, maker_};
    paths.add_all();
    if (!maker_.problem().empty()) {
        return unexpected(ErrorCode::corrupt, maker_.problem());
    }
    maker_.note_count(paths.cut(), "stacks of more than " + std::to_string(kMaxDepth) +
                                       " functions lack their outer end");
    return std::move(*this).finish();
}

}  // namespace

Result<callgraph::Profile> read_callgrind(std::string_view text, const Options& options) {
    return Reader{options}.read(text);
}

bool is_callgrind(std::string_view text) {
    constexpr std::size_t kLooked = 100;
    Lines lines{text};
    std::string_view line;
    bool has_events = false;
    for (std::size_t i = 0; i < kLooked && lines.next(line); ++i) {
        if (line.starts_with(kFirstLine) || (has_events && line.starts_with("fn="))) {
            return true;
        }
        has_events = has_events || line.starts_with("events:");
    }
    return false;
}

}  // namespace sample::imports
