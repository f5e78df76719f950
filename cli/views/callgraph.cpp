// The callgraph as an indented tree.
//
//     total ms      self ms
//     3000.000        0.000  <root>
//     3000.000        0.000  └─ app
//     3000.000        0.010     main
//     1800.000     1800.000     ├─ parse  (+2 small: 0.003)
//     1199.990     1199.990     └─ print
//
// `main` is the only callee of `app`, so it needs no branch of its own. The walk keeps its own
// stack: a profile may be deeper than ours.
#include "cli/views/json.h"
#include "cli/views/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

constexpr double kDefaultMinPercent = 0.5;

struct Rails {
    const char* branch;
    const char* last;
    const char* down;
    const char* blank;
    const char* cut;
};
constexpr Rails kUtf8Rails{"\u251c\u2500 ", "\u2514\u2500 ", "\u2502  ", "   ", "\u2026"};
constexpr Rails kAsciiRails{"|- ", "`- ", "|  ", "   ", "..."};

/// A node that waits to be printed.
struct Pending {
    NodeId id;
    std::vector<const char*> rails;  ///< Of its ancestors, three columns each.
    const char* branch = "";         ///< Its own; empty: continues the line above.
};

/// The children that weigh enough, and what the others add up to.
struct Children {
    std::vector<NodeId> shown;
    std::uint64_t small = 0;
    std::uint64_t small_ns = 0;
};

class TreePrinter {
public:
    TreePrinter(const callgraph::Profile& profile, const ViewOptions& options)
        : profile_{profile},
          options_{options},
          rails_{options.terminal.utf8 ? kUtf8Rails : kAsciiRails},
          column_{duration_column(profile, options)},
          total_ns_{root_total_ns(profile)},
          least_ns_{threshold_ns(profile, options, kDefaultMinPercent)} {}

    std::string print() {
        std::vector<Pending> pending;
        pending.push_back({NodeId{0}, {}, ""});
        while (!pending.empty()) {
            const Pending item = std::move(pending.back());
            pending.pop_back();
            const Children children = children_of(item.id);
            print_line(item, children);
            push_children(item, children, pending);
        }
        return std::move(out_);
    }

    [[nodiscard]] std::uint64_t small() const noexcept { return small_; }
    [[nodiscard]] bool has_chains() const noexcept { return has_chains_; }

private:
    [[nodiscard]] Children children_of(NodeId id) const {
        Children result;
        for (const NodeId child : profile_.node(id).children) {
            const std::uint64_t total = profile_.node(child).total_ns;
            if (total >= least_ns_) {
                result.shown.push_back(child);
            } else {
                ++result.small;
                result.small_ns += total;
            }
        }
        return result;
    }

    void push_children(const Pending& item, const Children& children,
                       std::vector<Pending>& pending) {
        const bool chain = children.shown.size() == 1 && item.id.value != 0;
        has_chains_ = has_chains_ || chain;
        std::vector<const char*> rails = item.rails;
        if (item.branch == rails_.branch) {
            rails.push_back(rails_.down);
        } else if (item.branch == rails_.last) {
            rails.push_back(rails_.blank);
        }
        for (std::size_t i = children.shown.size(); i-- > 0;) {
            const bool last = i + 1 == children.shown.size();
            const char* branch = last ? rails_.last : rails_.branch;
            pending.push_back({children.shown[i], rails, chain ? "" : branch});
        }
    }

    void print_line(const Pending& item, const Children& children) {
        const callgraph::Node& node = profile_.node(item.id);
        const double percent = percent_of(node.total_ns, total_ns_);
        const auto cell = [&](std::uint64_t ns) {
            return duration_cell(profile_, ns, options_.unit);
        };
        std::string suffix;
        if (children.small > 0) {
            small_ += children.small;
            suffix =
                fmt::format("  (+{} small: {})", grouped(children.small), cell(children.small_ns));
        }
        const std::string rails = rails_text(item);
        const std::size_t used = 2 * column_ + 3 + display_width(rails) + suffix.size();
        out_ += fmt::format(
            "{} {:>{}}  {}{}{}\n",
            styled(options_.terminal, heat(percent), pad_left(cell(node.total_ns), column_)),
            cell(node.self_ns), column_, rails,
            shorten_name(node_label(profile_, item.id), room_beside(used, options_.terminal),
                         options_.terminal),
            styled(options_.terminal, Style::dim, suffix));
    }

    /// The rails; on a terminal at most half of its width, cut at the left.
    [[nodiscard]] std::string rails_text(const Pending& item) const {
        constexpr std::size_t kRailWidth = 3;
        constexpr std::size_t kLeastRails = 6;
        std::string text;
        auto first = item.rails.begin();
        if (options_.terminal.width != 0) {
            const std::size_t most =
                std::max(options_.terminal.width / 2 / kRailWidth, kLeastRails);
            if (item.rails.size() > most) {
                first = item.rails.end() - static_cast<std::ptrdiff_t>(most - 1);
                text = pad_right(rails_.cut, kRailWidth);
            }
        }
        for (; first != item.rails.end(); ++first) {
            text += *first;
        }
        return text + item.branch;
    }

    const callgraph::Profile& profile_;
    const ViewOptions& options_;
    Rails rails_;
    std::size_t column_;
    std::uint64_t total_ns_;
    std::uint64_t least_ns_;
    std::string out_;
    std::uint64_t small_ = 0;
    bool has_chains_ = false;
};

}  // namespace

std::string callgraph_view(const callgraph::Profile& profile, const ViewOptions& options) {
    const Terminal& terminal = options.terminal;
    const std::string unit = unit_heading(profile, options);
    const std::size_t column = duration_column(profile, options);
    std::string out = session_line(profile, terminal) + "\n\n";
    out += styled(terminal, Style::bold,
                  pad_left("total " + unit, column) + " " + pad_left("self " + unit, column)) +
           "\n";
    if (profile.nodes.empty()) {
        return out + "no samples\n";
    }
    TreePrinter printer{profile, options};
    out += printer.print();
    std::string lines;
    if (printer.small() > 0) {
        lines += fmt::format(
            "Too small to show: {} (--min PERCENT sets the limit, --min 0 shows all).\n",
            grouped(printer.small()));
    }
    if (printer.has_chains()) {
        lines += "A line without a branch is called by the line above it.\n";
    }
    return out + footer(profile, terminal, std::move(lines));
}

std::string callgraph_json(const callgraph::Profile& profile, const ViewOptions& options) {
    const std::uint64_t least = threshold_ns(profile, options, 0.0);
    Json nodes = Json::array();
    std::vector<std::pair<NodeId, Json>> pending;
    if (!profile.nodes.empty()) {
        pending.emplace_back(NodeId{0}, Json{});
    }
    while (!pending.empty()) {
        const auto [id, parent] = std::move(pending.back());
        pending.pop_back();
        const callgraph::Node& node = profile.node(id);
        if (id.value != 0 && node.total_ns < least) {
            continue;
        }
        const std::size_t index = nodes.size();
        Json item = {{"parent", parent},
                     {"name", node_name(profile, id)},
                     {"function", node.function.is_none() ? Json{} : Json(node.function.value)},
                     {weight_key(profile, "total"), weight(profile, node.total_ns)},
                     {weight_key(profile, "self"), weight(profile, node.self_ns)},
                     {"samples", node.samples},
                     {"self_samples", node.self_samples}};
        if (node.inlining != callgraph::Inlining::none) {
            item["inlined"] = node.inlining == callgraph::Inlining::all ? "all" : "some";
        }
        if (node.call_line != 0) {
            item["call_line"] = node.call_line;
        }
        if (node.line != 0) {
            item["line"] = node.line;
        }
        nodes.push_back(std::move(item));
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
            pending.emplace_back(*child, Json(index));
        }
    }
    Json out = session_json(profile);
    out["nodes"] = std::move(nodes);
    return dump(out);
}

}  // namespace sample::cli
