#include "server/live_state.h"

#include "export/shared/json.h"
#include "export/shared/writer.h"

#include <numeric>
#include <string_view>
#include <utility>

namespace sample::server {
namespace {

constexpr std::uint32_t kRoot = 0;

/// What the session is of. Known behind its first record.
std::string session_of(const callgraph::Profile& profile) {
    std::string text;
    const exports::Sink sink = exports::to_string_sink(text);
    exports::Writer out{sink};
    out.put("{\"command\":", exports::json_string(profile.command_line),
            ",\"start_unix_ms\":", profile.start_unix_ms,
            ",\"metric\":", exports::json_string(profile.metric.name), ",\"unit\":",
            exports::json_string(profile.is_time() ? "ns" : std::string_view{profile.metric.unit}),
            ",\"hz\":", profile.stats.requested_hz,
            ",\"source\":", exports::json_string(profile.stats.source), "}");
    static_cast<void>(out.finish());  // a string takes everything
    return text;
}

std::vector<std::uint32_t> numbers_from(std::uint32_t first, std::size_t end) {
    std::vector<std::uint32_t> numbers(end - first);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

/// `,"key":[row,…]`, or nothing where there are no rows.
template <class PutRow>
void put_rows(exports::Writer& out, std::string_view key, const std::vector<std::uint32_t>& numbers,
              const PutRow& put_row) {
    if (numbers.empty()) {
        return;
    }
    out.put(",\"", key, "\":[");
    exports::json_list(out, numbers.size(), "", ",", [&](std::size_t i) { put_row(numbers[i]); });
    out.put("]");
}

}  // namespace

std::string LiveState::update(const callgraph::Profile& profile, const LiveFigures& figures) {
    Rows rows;
    rows.first_module = static_cast<std::uint32_t>(modules_.size());
    rows.first_function = static_cast<std::uint32_t>(functions_.size());
    rows.first_category = static_cast<std::uint32_t>(categories_.size());
    ++sequence_;
    figures_ = figures;
    samples_ = profile.stats.samples;
    std::string session = session_of(profile);
    rows.has_session = session != session_;
    session_ = std::move(session);
    update_threads(profile, rows);
    update_nodes(profile, rows);
    return text(rows);
}

void LiveState::update_threads(const callgraph::Profile& profile, Rows& rows) {
    for (const callgraph::ThreadTotals& each : profile.threads) {
        Thread now{each.pid,     each.tid,   each.start_ns, each.name,
                   each.process, each.total, each.samples};
        const auto known = static_cast<std::uint32_t>(threads_.size());
        const std::uint32_t number = threads_.intern(now);
        Thread& entry = threads_[number];
        if (number >= known || entry.total != now.total || entry.samples != now.samples ||
            entry.name != now.name || entry.process != now.process) {
            entry = std::move(now);
            rows.threads.push_back(number);
        }
    }
}

std::vector<std::uint32_t> LiveState::functions_of(const callgraph::Profile& profile) {
    std::vector<std::uint32_t> modules;
    for (const callgraph::CodeModule& module : profile.modules) {
        modules.push_back(modules_.intern({module.path.empty() ? module.name : module.path}));
    }
    std::vector<std::uint32_t> functions;
    for (const callgraph::Function& each : profile.functions) {
        functions.push_back(
            functions_.intern({each.name, modules[each.module], each.source, each.line}));
    }
    return functions;
}

void LiveState::update_nodes(const callgraph::Profile& profile, Rows& rows) {
    const std::vector<std::uint32_t> functions = functions_of(profile);
    std::vector<std::uint32_t> what_of(profile.nodes.size(), 0);
    for (const callgraph::Category& category : profile.categories) {
        what_of[category.node.value] = categories_.intern({category.name});
    }
    // A profile's node and its parent's number here; parents come first.
    std::vector<std::pair<NodeId, std::uint32_t>> to_do{{NodeId{0}, kRoot}};
    while (!to_do.empty()) {
        const auto [id, parent] = to_do.back();
        to_do.pop_back();
        const callgraph::Node& from = profile.node(id);
        const bool is_root = id.value == 0;
        Node now;
        // The root is its own parent, of a function that no other child of it has.
        now.parent = parent;
        now.what = is_root                    ? std::uint32_t{0} - 1
                   : from.function.value == 0 ? what_of[id.value]
                                              : functions[from.function.value - 1];
        now.self = from.self;
        now.total = from.total;
        now.samples = from.samples;
        now.seen = sequence_;
        const std::uint32_t number = put_node(now, rows);
        for (const NodeId child : profile.children(from)) {
            to_do.emplace_back(child, number);
        }
    }
    for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
        if (nodes_[number].seen + 1 == sequence_) {
            rows.gone.push_back(number);
        }
    }
}

std::uint32_t LiveState::put_node(const Node& now, Rows& rows) {
    const auto known = static_cast<std::uint32_t>(nodes_.size());
    const std::uint32_t number = nodes_.intern(now);
    Node& entry = nodes_[number];
    if (number >= known || entry.seen + 1 < sequence_) {
        rows.nodes.push_back(number);
    } else if (entry.self != now.self || entry.total != now.total || entry.samples != now.samples) {
        rows.changed.push_back(number);
    }
    entry = now;
    return number;
}

std::string LiveState::snapshot() const {
    Rows rows;
    rows.threads = numbers_from(0, threads_.size());
    for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
        if (is_present(nodes_[number])) {
            rows.nodes.push_back(number);
        }
    }
    return text(rows);
}

std::string LiveState::text(const Rows& rows) const {
    std::string text;
    const exports::Sink sink = exports::to_string_sink(text);
    exports::Writer out{sink};
    out.put("{\"version\":1,\"sequence\":", sequence_, ",\"state\":\"",
            figures_.has_ended ? "ended" : "running", "\",\"elapsed_ns\":", figures_.elapsed_ns,
            ",\"samples\":", samples_, ",\"lost\":", figures_.lost, ",\"second\":[",
            figures_.second_samples, ",", figures_.second_weight, "]");
    if (rows.has_session) {
        out.put(",\"session\":", session_.empty() ? "{}" : session_);
    }
    put_rows(out, "modules", numbers_from(rows.first_module, modules_.size()),
             [&](std::uint32_t number) { out.put(exports::json_string(modules_[number].path)); });
    put_rows(out, "functions", numbers_from(rows.first_function, functions_.size()),
             [&](std::uint32_t number) {
                 const Function& each = functions_[number];
                 out.put("[", exports::json_string(each.name), ",", each.module, ",",
                         exports::json_string(each.source), ",", each.line, "]");
             });
    put_rows(
        out, "categories", numbers_from(rows.first_category, categories_.size()),
        [&](std::uint32_t number) { out.put(exports::json_string(categories_[number].name)); });
    put_rows(out, "threads", rows.threads, [&](std::uint32_t number) {
        const Thread& each = threads_[number];
        out.put("[", number, ",", each.pid, ",", each.tid, ",", exports::json_string(each.name),
                ",", exports::json_string(each.process), ",", each.total, ",", each.samples, "]");
    });
    put_rows(out, "nodes", rows.nodes, [&](std::uint32_t number) {
        const Node& each = nodes_[number];
        out.put("[", number, ",", each.parent, ",", number == kRoot ? 0 : each.what, ",", each.self,
                ",", each.total, ",", each.samples, "]");
    });
    put_rows(out, "changed", rows.changed, [&](std::uint32_t number) {
        const Node& each = nodes_[number];
        out.put("[", number, ",", each.self, ",", each.total, ",", each.samples, "]");
    });
    put_rows(out, "gone", rows.gone, [&](std::uint32_t number) { out.put(number); });
    out.put("}");
    static_cast<void>(out.finish());  // a string takes everything
    return text;
}

}  // namespace sample::server
