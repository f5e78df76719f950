// `sample diff --json`: every function, and every path where they are asked for; each on a line of
// its own, and made when it is written: as values in memory they take ten times as much.
#include "cli/views/diff.h"
#include "cli/views/json.h"
#include "cli/views/text.h"
#include "core/units.h"

namespace sample::cli {
namespace {

using analysis::Compared;

/// By Verdict.
constexpr const char* kVerdicts[] = {"within_noise", "worse", "better", "by_clock", "not_judged"};

class DiffJson {
public:
    explicit DiffJson(const DiffReport& report)
        : report_{report}, measure_{measure_of(report.before.front().profile)} {}

    /// All functions and nodes, so that indices of nodes and of the gate's failures are good.
    [[nodiscard]] std::string make() const {
        const analysis::Diff& diff = report_.diff;
        std::string text = dump(head());
        text.erase(text.rfind("\n}"));
        add_list(text, "functions", diff.functions.size(),
                 [&](std::size_t i) { return function(diff.functions[i]); });
        if (report_.options.view == DiffView::paths) {
            add_list(text, "nodes", diff.nodes.size(),
                     [&](std::size_t i) { return node(diff.nodes[i], i == 0); });
        }
        return text + "\n}\n";
    }

private:
    /// All but the lists.
    [[nodiscard]] Json head() const {
        const analysis::Diff& diff = report_.diff;
        Json out = {{"a", side(report_.before)},
                    {"b", side(report_.after)},
                    {"normalized", diff.is_normalized},
                    {"normalized_by", known(report_.options.normalize_by)},
                    {"unit", measure_.is_time() ? "us" : measure_.counted},
                    {"judged", diff.is_judged},
                    {"confidence", report_.options.confidence_percent / kHundred},
                    {"compared", diff.functions_level.judged},
                    {"interval_confidence", confidence(diff.functions_level)},
                    {"warnings", report_.warnings},
                    {"gate", gate()},
                    {"whole", compared(diff.whole)}};
        if (report_.options.view == DiffView::paths) {
            out["compared_paths"] = diff.nodes_level.judged;
            out["paths_interval_confidence"] = confidence(diff.nodes_level);
        }
        return out;
    }

    /// One more member of an object whose end is missing.
    template <class Make>
    static void add_list(std::string& text, const char* name, std::size_t size, const Make& make) {
        text.append(",\n  \"").append(name).append("\": [");
        for (std::size_t i = 0; i < size; ++i) {
            text += i == 0 ? "\n    " : ",\n    ";
            text += make(i).dump(-1, ' ', true, Json::error_handler_t::replace);
        }
        text += size == 0 ? "]" : "\n  ]";
    }

    [[nodiscard]] Json confidence(const analysis::Level& level) const {
        return report_.diff.is_judged ? Json(1 - level.error) : Json{};
    }

    /// One recording; of several, a list of all.
    [[nodiscard]] Json side(const std::vector<DiffSide>& runs) const {
        Json list = Json::array();
        for (const DiffSide& each : runs) {
            list.push_back(run(each));
        }
        return runs.size() == 1 ? list.front() : list;
    }

    [[nodiscard]] Json run(const DiffSide& side) const {
        const callgraph::Profile& profile = side.profile;
        const callgraph::Stats& stats = profile.stats;
        Json out = {{"file", side.file},
                    {"command", profile.command_line},
                    {"start_unix_ms", profile.start_unix_ms},
                    {"event", known(profile.event)},
                    {"clock", known(stats.clock)},
                    {"source", known(stats.source)},
                    {"requested_hz", known(stats.requested_hz)},
                    {"period", known(stats.period)},
                    {"wall_us", microseconds(stats.wall_ns)},
                    {measure_.key("total"), measure_.number(side.total())},
                    {"samples", or_null(stats.known_samples(side.samples()))},
                    {"lost", stats.lost},
                    {"whole", stats.whole},
                    {"scale", profile.scale},
                    {"net", profile.is_net}};
        if (!profile.restriction.empty()) {
            out["restriction"] = profile.restriction;
        }
        return out;
    }

    /// A difference or an end of its interval, in the unit of "a" and "b".
    [[nodiscard]] Json number(double value) const {
        return report_.diff.is_normalized || !measure_.is_time() ? value : value / kNsPerUs;
    }

    static Json known_samples(const std::vector<DiffSide>& runs, std::uint64_t samples) {
        return or_null(runs.front().profile.stats.known_samples(samples));
    }

    [[nodiscard]] Json compared(const Compared& compared) const {
        Json out = {{measure_.key("a"), measure_.number(compared.before.weight)},
                    {measure_.key("b"), measure_.number(compared.after.weight)},
                    {"a_samples", known_samples(report_.before, compared.before.samples)},
                    {"b_samples", known_samples(report_.after, compared.after.samples)}};
        if (report_.diff.is_normalized) {
            out["a_share"] = compared.before.value;
            out["b_share"] = compared.after.value;
        }
        out["delta"] = number(compared.difference());
        out["low"] = compared.interval ? number(compared.interval->low) : Json{};
        out["high"] = compared.interval ? number(compared.interval->high) : Json{};
        out["verdict"] = kVerdicts[static_cast<std::size_t>(compared.verdict)];
        return out;
    }

    [[nodiscard]] Json gate() const {
        if (!report_.options.fail_above_percent) {
            return {};
        }
        Json failures = Json::array();
        for (const analysis::GateFailure& failure : report_.failures) {
            failures.push_back({{"function", failure.function ? Json(*failure.function) : Json{}},
                                {"at_least_percent", failure.least * kHundred}});
        }
        return {{"fail_above_percent", *report_.options.fail_above_percent},
                {"failed", !report_.failures.empty()},
                {"failures", std::move(failures)}};
    }

    [[nodiscard]] Json function(const analysis::FunctionDiff& function) const {
        return {{"name", function.name},
                {"source", function.source},
                {"line", function.line},
                {"module", function.module},
                {"flags", function.flags},
                {"presence", function.is_new()    ? "new"
                             : function.is_gone() ? "gone"
                                                  : "both"},
                {"self", compared(function.self)},
                {"total", compared(function.total)}};
    }

    [[nodiscard]] Json node(const analysis::NodeDiff& node, bool is_root) const {
        return {{"parent", is_root ? Json{} : Json(node.parent)},
                {"function", or_null(node.function)},
                {"category", known(node.category)},
                {"self", compared(node.self)},
                {"total", compared(node.total)}};
    }

    const DiffReport& report_;
    Measure measure_;
};

}  // namespace

std::string diff_json(const DiffReport& report) {
    return DiffJson{report}.make();
}

}  // namespace sample::cli
