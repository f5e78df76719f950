// The callgraph as an indented tree; with the callers below, it is the same tree upside down.
//
//     total ms      self ms
//     3000.000        0.000  <root>
//     3000.000        0.000  └─ app
//     3000.000        0.010     main
//     1800.000     1800.000     ├─ parse  (+2 small: 0.003)
//     1199.990     1199.990     └─ print
//
// `main` is the only callee of `app`, so it needs no branch of its own. In JSON the nodes are a
// flat list, each with the index of its parent.
#include "callgraph/transforms.h"
#include "cli/views/table.h"
#include "cli/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sample::cli {
namespace {

enum class Branch : std::uint8_t {
    none,  ///< Continues the line above.
    middle,
    last,
};

struct Rails {
    const char* branch;
    const char* last;
    const char* down;
    const char* blank;
    const char* cut;
};
constexpr Rails kUtf8Rails{"\u251c\u2500 ", "\u2514\u2500 ", "\u2502  ", "   ", "\u2026"};
constexpr Rails kAsciiRails{"|- ", "`- ", "|  ", "   ", "..."};
constexpr std::size_t kRailWidth = 3;
constexpr double kDefaultMinPercent = 0.5;

/// A node that weighs enough to be shown, or several that call themselves and nothing else.
struct Line {
    NodeId id;
    std::size_t parent = 0;  ///< The line of its caller.
    std::size_t fork = 0;    ///< The line of the nearest ancestor with a branch; 0: none has one.
    Branch branch = Branch::none;
    std::uint64_t small = 0;  ///< Children that do not weigh enough, and what they add up to.
    std::uint64_t small_weight = 0;
    std::size_t calls = 1;  ///< How many nodes it is, one below the other.
    std::uint64_t self = 0;
};

/// The children of `node` that weigh enough; the others are added to `line`.
std::vector<NodeId> heavy_children(const callgraph::Profile& profile, NodeId node,
                                   std::uint64_t least, Line& line) {
    std::vector<NodeId> heavy;
    for (const NodeId child : profile.children(node)) {
        const std::uint64_t total = profile.node(child).total;
        if (total >= least) {
            heavy.push_back(child);
        } else {
            ++line.small;
            line.small_weight += total;
        }
    }
    return heavy;
}

/// From the root, callees below their caller. The walk keeps its own stack: a profile may be deeper
/// than ours.
std::vector<Line> lines_of(const callgraph::Profile& profile, std::uint64_t least,
                           bool joins_recursion) {
    std::vector<Line> lines;
    std::vector<Line> pending;
    if (!profile.nodes.empty()) {
        pending.push_back({NodeId{0}});
    }
    while (!pending.empty()) {
        Line line = pending.back();
        pending.pop_back();
        const std::size_t fork = line.branch == Branch::none ? line.fork : lines.size();
        const std::size_t first = pending.size();
        const callgraph::Node& node = profile.node(line.id);
        line.self = node.self;
        std::vector<NodeId> children = heavy_children(profile, line.id, least, line);
        while (joins_recursion && children.size() == 1 && !node.function.is_none() &&
               profile.node(children[0]).function == node.function &&
               profile.node(children[0]).line == node.line) {
            ++line.calls;
            line.self += profile.node(children[0]).self;
            children = heavy_children(profile, children[0], least, line);
        }
        for (auto child = children.rbegin(); child != children.rend(); ++child) {
            pending.push_back({*child, lines.size(), fork, Branch::middle});
        }
        if (pending.size() > first) {
            const bool is_chain = pending.size() == first + 1 && line.id.value != 0;
            pending[first].branch = is_chain ? Branch::none : Branch::last;
        }
        lines.push_back(line);
    }
    return lines;
}

/// What stands before a line's name; at most half of `room` (0: all they take), cut at the left.
std::string rails_text(const std::vector<Line>& lines, const Line& line, const Terminal& terminal,
                       std::size_t room) {
    constexpr std::size_t kLeastRails = 6;
    const Rails& rails = terminal.utf8 ? kUtf8Rails : kAsciiRails;
    const std::size_t most =
        room == 0 ? lines.size() : std::max(room / 2 / kRailWidth, kLeastRails);
    std::vector<const char*> upwards;
    for (std::size_t at = line.fork; at != 0 && upwards.size() <= most; at = lines[at].fork) {
        upwards.push_back(lines[at].branch == Branch::last ? rails.blank : rails.down);
    }
    std::string text;
    if (upwards.size() > most) {
        upwards.resize(most - 1);
        text = pad_right(rails.cut, kRailWidth);
    }
    std::for_each(upwards.rbegin(), upwards.rend(), [&text](const char* rail) { text += rail; });
    if (line.branch != Branch::none) {
        text += line.branch == Branch::last ? rails.last : rails.branch;
    }
    return text;
}

Json inlining_json(const callgraph::Node& node) {
    if (node.inlining == callgraph::Inlining::none) {
        return {};
    }
    return node.inlining == callgraph::Inlining::all ? "all" : "some";
}

/// What stands below the tree. `relation` says what a line without a branch is to the one above.
std::string legend(const std::vector<Line>& lines, const char* relation) {
    std::uint64_t small = 0;
    bool has_chains = false;
    for (const Line& line : lines) {
        small += line.small;
        has_chains = has_chains || (line.branch == Branch::none && line.id.value != 0);
    }
    std::string text;
    if (small > 0) {
        text = fmt::format(
            "Too small to show: {} (--min PERCENT sets the limit, --min 0 shows all).\n",
            grouped(small));
    }
    return has_chains ? text + "A line without a branch " + relation + " the line above it.\n"
                      : text;
}

std::string tree_view(const callgraph::Profile& profile, const ViewOptions& options,
                      double min_percent, const char* relation) {
    using callgraph::Node;
    const std::vector<Line> lines =
        lines_of(profile, threshold(root_total(profile), options, min_percent), !options.json);
    const auto line = values_of(lines);
    const auto node = [&](auto get) {
        return line(
            [&profile, get](const Line& of) { return std::invoke(get, profile.node(of.id)); });
    };
    const NodeNames names{profile};
    Table table;
    const Measure& measure = table.measure = measure_of(profile, options.unit);
    table.rows = lines.size();
    const std::string shares = options.unit == Unit::weight ? "share" : "";
    const auto known_samples = [&](std::uint64_t samples) {
        return or_null(profile.stats.known_samples(samples));
    };
    table.columns = {
        {"parent", "", Kind::id,
         line([](const Line& of) { return of.id.value == 0 ? Json{} : Json(of.parent); })},
        {"name", "", Kind::word, line([&](const Line& of) { return names.raw(of.id); })},
        {"function", "", Kind::id, node([](const Node& of) { return known(of.function.value); })},
        {measure.key("total"), "total", Kind::weight, node(&Node::total), measure.whole},
        {"", shares, Kind::share, node(&Node::total), measure.whole},
        {measure.key("self"), "self", Kind::weight, line(&Line::self), measure.whole},
        {"", is_narrow(options.terminal) ? "" : shares, Kind::share, line(&Line::self),
         measure.whole},
        {"samples", "", Kind::count,
         node([&](const Node& of) { return known_samples(of.samples); })},
        {"self_samples", "", Kind::count,
         node([&](const Node& of) { return known_samples(of.self_samples); })},
        {"inlined", "", Kind::word, node(inlining_json), 0, Style::plain, true},
        {"call_line", "", Kind::id, node([](const Node& of) { return known(of.call_line); }), 0,
         Style::plain, true},
        {"line", "", Kind::id, node([](const Node& of) { return known(of.line); }), 0, Style::plain,
         true}};
    table.name = [&](std::size_t row, std::size_t room) {
        const Line& of = lines[row];
        const std::string rails = rails_text(lines, of, options.terminal, room);
        const std::string small = of.small == 0
                                      ? ""
                                      : fmt::format("  (+{} small: {})", grouped(of.small),
                                                    measure.cell(of.small_weight));
        const NodeLabel label = names.label(of.id, options.terminal);
        const std::string calls = times_text(of.calls, options.terminal);
        const auto used = [&](const std::string& last) {
            return display_width(rails) + display_width(label.before) + label.behind.size() +
                   display_width(calls) + last.size();
        };
        // What goes first where the line is too long.
        const bool fits = room == 0 || used(small) + display_width(label.name) <= room;
        const std::string last = fits ? small : "";
        constexpr std::size_t kLeastName = 8;
        return rails + std::string{label.before} +
               shorten_name(label.name, room_beside(used(last), room, kLeastName),
                            options.terminal) +
               label.behind + calls + styled(options.terminal, Style::dim, last);
    };
    table.empty = "no samples";
    return print(profile, options, "nodes", table, legend(lines, relation));
}

}  // namespace

std::string callgraph_view(const callgraph::Profile& profile, const ViewOptions& options) {
    return tree_view(profile, options, options.json ? 0.0 : kDefaultMinPercent, "is called by");
}

std::string callers_view(const callgraph::Profile& profile, const ViewOptions& options) {
    const std::vector<FunctionId> focused = options.focus.empty()
                                                ? std::vector<FunctionId>{}
                                                : callgraph::find_focused(profile, options.focus);
    return tree_view(
        callgraph::invert(profile, focused, options.min_percent.value_or(kDefaultMinPercent)),
        options, kDefaultMinPercent, "calls");
}

}  // namespace sample::cli
