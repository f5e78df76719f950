#include "made_up_profile.h"

#include "callgraph/tree.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace sample::cli {
namespace {

NodeId add_node(callgraph::Profile& profile, NodeId parent, std::uint32_t function,
                std::uint64_t total_us, std::uint64_t self_us) {
    const NodeId id{static_cast<std::uint32_t>(profile.nodes.size())};
    callgraph::Node node;
    node.parent = parent;
    node.function = FunctionId{function};
    node.total = total_us * 1000;
    node.self = self_us * 1000;
    node.samples = total_us / 100;
    node.self_samples = self_us / 100;
    profile.nodes.push_back(node);
    callgraph::link_children(profile.nodes);
    return id;
}

void add_function(callgraph::Profile& profile, std::string name, std::string source,
                  std::uint32_t line, std::uint64_t total_us, std::uint64_t self_us) {
    callgraph::Function function;
    function.name = std::move(name);
    function.source = std::move(source);
    function.line = line;
    function.module = 1;
    function.total = total_us * 1000;
    function.self = self_us * 1000;
    function.samples = total_us / 100;
    function.self_samples = self_us / 100;
    profile.functions.push_back(std::move(function));
}

void add_facts(callgraph::Profile& profile) {
    profile.threads = {{"app", "app", 100, 100, 0, 900 * kMs, 9000, 4},
                       {"worker", "app", 100, 101, 0, 100 * kMs, 1000, 0}};
    profile.modules.push_back({"app", "/usr/bin/app", ""});
    callgraph::ProcessTotals process;
    process.executable = "/usr/bin/app";
    process.command_line = "./app --fast";
    process.pid = 100;
    process.parent_pid = 1;
    process.source = "sigtrap";
    process.ending = "exited with 0";
    process.cpu_ns = 1001 * kMs;
    profile.processes = {process};
    callgraph::Stats& stats = profile.stats;
    stats.requested_hz = 10'000;
    stats.achieved_hz = 9'990.04;
    stats.source = "sigtrap";
    stats.clock = "cpu";
    stats.wall_ns = 1100 * kMs;
    stats.process_cpu_ns = 1001 * kMs;
    stats.sampled = 1000 * kMs;
    stats.samples = 10'000;
    stats.incomplete_stacks = 4;
    stats.threads = 2;
    stats.processes = 1;
    stats.handler_ns_mean = 812.349;
}

}  // namespace

callgraph::Profile made_up_profile() {
    callgraph::Profile profile;
    profile.command_line = "./app --fast";
    profile.start_unix_ms = 1'700'000'000'000;
    profile.end_unix_ms = 1'700'000'001'100;
    add_function(profile, "main", "/src/app/main.cpp", 10, 900'000, 500);
    add_function(profile, "parse(std::string const&)", "/src/app/parse.cpp", 20, 600'000, 500'000);
    add_function(profile, "", "/src/app/tree.cpp", 7, 100'000, 100'000);
    profile.functions.back().flags = callgraph::kNative | callgraph::kPlugin;
    add_function(profile, "print", "libprint.so", 0, 299'000, 299'000);
    add_function(profile, "tiny", "", 0, 500, 500);
    add_function(profile, "", "", 0, 100'000, 100'000);
    const NodeId root = add_node(profile, {}, 0, 1'000'000, 0);
    const NodeId app = add_node(profile, root, 0, 900'000, 0);
    const NodeId main = add_node(profile, app, 1, 900'000, 500);
    const NodeId parse = add_node(profile, main, 2, 600'000, 500'000);
    add_node(profile, parse, 3, 100'000, 100'000);
    add_node(profile, main, 4, 299'000, 299'000);
    add_node(profile, main, 5, 500, 500);
    const NodeId worker = add_node(profile, root, 0, 100'000, 0);
    add_node(profile, worker, 6, 100'000, 100'000);
    profile.categories = {{"app", app}, {"worker", worker}};
    add_facts(profile);
    return profile;
}

std::size_t widest_line(const std::string& text) {
    std::istringstream lines{text};
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) {
        std::size_t width = 0;
        for (const char c : line) {
            width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
        }
        widest = std::max(widest, width);
    }
    return widest;
}

}  // namespace sample::cli
