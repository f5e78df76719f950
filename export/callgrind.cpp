#include "callgraph/tree.h"
#include "core/text.h"
#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

constexpr std::string_view kUnknown = "???";  ///< As callgrind itself writes it.
constexpr std::string_view kCategoryFile = "[category]";

/// The names of one kind, numbered: the first time with the name, then the number alone.
class Names {
public:
    /// The number of a name, which must outlive this; equal names have one.
    std::uint32_t add(std::string_view name) {
        const auto number = static_cast<std::uint32_t>(names_.size());
        const auto [known, is_new] = numbers_.try_emplace(name, number);
        if (is_new) {
            names_.push_back(name);
        }
        return known->second;
    }

    void write(Writer& out, std::string_view key, std::uint32_t number) {
        out.put(key, number + 1, ")");
        if (!names_[number].empty()) {
            out.put(" ", one_line(names_[number]));
            names_[number] = {};
        }
        out.put("\n");
    }

private:
    std::unordered_map<std::string_view, std::uint32_t> numbers_;
    std::vector<std::string_view> names_;  ///< Empty: written.
};

/// What one line of a function cost itself, or what its calls of one function cost.
struct Cost {
    std::uint32_t line = 0;
    FunctionId callee;  ///< None: the line itself.
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;
};

/// Adds up those of the same line and callee; in the order of both.
void merge(std::vector<Cost>& costs) {
    const auto place = [](const Cost& cost) { return std::tie(cost.line, cost.callee); };
    std::sort(costs.begin(), costs.end(),
              [&](const Cost& left, const Cost& right) { return place(left) < place(right); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        if (i != 0 && place(costs[kept - 1]) == place(costs[i])) {
            costs[kept - 1].weight += costs[i].weight;
            costs[kept - 1].samples += costs[i].samples;
        } else {
            costs[kept++] = costs[i];
        }
    }
    costs.resize(kept);
}

class Body {
public:
    Body(const Profile& profile, Writer& out)
        : profile_{profile},
          out_{out},
          is_outermost_{callgraph::outermost_nodes(profile)},
          names_{unique_names(profile)} {}

    void write() {
        // The root is no category, and costs nothing unless a profile was made by hand.
        add_places();
        write_category("<root>", NodeId{}, profile_.categories.empty());
        for (const callgraph::Category& category : profile_.categories) {
            write_category(category.name, category.node, true);
        }
        // The nodes of a function are a chain; the root, which has none, ends it.
        std::vector<std::uint32_t> first(profile_.functions.size() + 1);
        std::vector<std::uint32_t> next(profile_.nodes.size());
        for (auto id = static_cast<std::uint32_t>(profile_.nodes.size()); id-- > 1;) {
            next[id] = std::exchange(first[profile_.nodes[id].function.value], id);
        }
        for (std::size_t id = 1; id < first.size() && out_.is_good(); ++id) {
            costs_.clear();
            for (std::uint32_t node = first[id]; node != 0; node = next[node]) {
                add(NodeId{node});
            }
            write_costs(places_[id - 1], profile_.functions[id - 1].line);
        }
    }

private:
    /// Where code is, by the numbers of names.
    struct Place {
        std::uint32_t object = 0;
        std::uint32_t file = 0;
        std::uint32_t function = 0;
    };

    void add_places() {
        places_.reserve(profile_.functions.size());
        for (const Function& function : profile_.functions) {
            places_.push_back(place(module_file(profile_.module_of(function)),
                                    source_file(profile_, function), names_[places_.size()]));
        }
    }

    Place place(std::string_view object, std::string_view file, std::string_view function) {
        return {objects_.add(is_blank(object) ? kUnknown : object),
                files_.add(is_blank(file) ? kUnknown : file), functions_.add(function)};
    }

    void write_category(std::string_view name, NodeId node, bool with_calls) {
        costs_.clear();
        add(node, with_calls);
        write_costs(place({}, kCategoryFile, is_blank(name) ? kUnknown : name), 0);
    }

    void add(NodeId id, bool with_calls = true) {
        const Node& node = profile_.node(id);
        if (node.self != 0 || node.self_samples != 0) {
            costs_.push_back({node.line, FunctionId{}, node.self, node.self_samples});
        }
        if (!with_calls) {
            return;
        }
        for (const NodeId child : profile_.children(node)) {
            if (is_outermost_[child.value]) {
                const Node& callee = profile_.node(child);
                const std::uint32_t line = node.line != 0 ? node.line : callee.call_line;
                costs_.push_back({line, callee.function, callee.total, callee.samples});
            }
        }
    }

    /// `line`: where the function begins; 0 if that is not known.
    void write_costs(const Place& place, std::uint32_t line) {
        if (costs_.empty()) {
            return;
        }
        merge(costs_);
        const bool has_line = std::any_of(costs_.begin(), costs_.end(), [](const Cost& cost) {
            return cost.callee.is_none() && cost.line != 0;
        });
        objects_.write(out_, "ob=(", place.object);
        files_.write(out_, "fl=(", place.file);
        functions_.write(out_, "fn=(", place.function);
        if (!has_line && line != 0) {
            // callgrind_annotate cannot show a source file of which no line has a cost.
            out_.put(line, " 0 0\n");
        }
        for (const Cost& cost : costs_) {
            if (!cost.callee.is_none()) {
                write_call(places_[cost.callee.value - 1], place,
                           profile_.function(cost.callee).line);
            }
            out_.put(cost.line, " ", cost.weight, " ", cost.samples, "\n");
        }
        out_.put("\n");
    }

    /// What is not said is as in the calling function.
    void write_call(const Place& callee, const Place& caller, std::uint32_t line) {
        if (callee.object != caller.object) {
            objects_.write(out_, "cob=(", callee.object);
        }
        if (callee.file != caller.file) {
            files_.write(out_, "cfi=(", callee.file);
        }
        functions_.write(out_, "cfn=(", callee.function);
        out_.put("calls=1 ", line, "\n");
    }

    const Profile& profile_;
    Writer& out_;
    std::vector<bool> is_outermost_;
    std::vector<std::string> names_;
    Names objects_;
    Names files_;
    Names functions_;
    std::vector<Place> places_;  ///< By function.
    std::vector<Cost> costs_;
};

/// What the first number of each line is: a name of letters, digits and '_', and in words.
std::pair<std::string, std::string> weight_event(const Profile& profile) {
    if (profile.is_time()) {
        const std::string& clock = profile.stats.clock;
        const std::string words = (clock == "cpu" ? "CPU" : clock) + " time [ns]";
        return {"Nanoseconds", clock.empty() ? "time [ns]" : words};
    }
    std::string name = one_line(profile.metric.unit);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return {name, one_line(profile.event)};
}

void write_head(const Profile& profile, Writer& out) {
    out.put("# callgrind format\nversion: 1\ncreator: ", creator(), "\n");
    if (!profile.processes.empty()) {
        out.put("pid: ", profile.processes.front().pid, "\n");
    }
    out.put("cmd: ", one_line(profile.command_line), "\n");
    for (const auto& lines : {fact_lines(profile), thread_lines(profile)}) {
        for (const std::string& line : lines) {
            out.put("desc: ", line, "\n");
        }
    }
    const auto [name, words] = weight_event(profile);
    out.put("\npositions: line\nevent: ", name, " : ", words, "\nevents: ", name, " Samples\n");
}

}  // namespace

Result<void> write_callgrind(const Profile& profile, const Sink& sink) {
    Writer out{sink};
    write_head(profile, out);
    if (!profile.nodes.empty()) {
        const Node& root = profile.nodes[0];
        out.put("summary: ", root.total, " ", root.samples, "\n\n");
        Body{profile, out}.write();
        out.put("totals: ", root.total, " ", root.samples, "\n");
    }
    return out.finish();
}

}  // namespace sample::exports
