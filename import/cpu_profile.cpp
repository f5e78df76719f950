// A .cpuprofile of V8 (Node.js, Chrome's developer tools): a tree of nodes by id, and which of them
// ran when. Nodes come in any order, and say either their children or their parent.
#include "core/units.h"
#include "import/json_reader.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

constexpr double kMaxUs = 4.6e15;  // Nanoseconds below 2^62.

struct CallFrame {
    std::string name;
    std::string url;
    double line = -1;    ///< From 0 on; -1: not known.
    double column = -1;  ///< The same.
};

struct CpuNode {
    std::uint64_t id = 0;
    std::optional<std::uint64_t> parent_id;
    std::uint64_t hits = 0;
    CallFrame frame;
    std::vector<std::uint64_t> children;
    std::size_t parent = kNone;  ///< An index.
    ProfileMaker::Place place = 0;
};

struct CpuProfile {
    std::vector<CpuNode> nodes;
    std::vector<std::uint64_t> samples;  ///< Ids.
    std::vector<double> deltas_us;
    double start_us = 0;
    double end_us = 0;
    bool has_nodes = false;
    std::unordered_map<std::uint64_t, std::size_t> index_of_id;
};

bool read_call_frame(JsonReader& reader, std::string_view key, JsonValue value, CpuNode& node) {
    constexpr std::array kFields{
        JsonField<CallFrame>{"functionName", &CallFrame::name, true},
        JsonField<CallFrame>{"url", &CallFrame::url},
        JsonField<CallFrame>{"lineNumber", &CallFrame::line},
        JsonField<CallFrame>{"columnNumber", &CallFrame::column},
    };
    JsonObject frame;
    return reader.read(key, value, frame) && reader.read(frame, node.frame, kFields);
}

bool read_ids(JsonReader& reader, std::string_view key, JsonValue value,
              std::vector<std::uint64_t>& ids) {
    return reader.array(key, value,
                        [&](JsonValue each) { return reader.read(key, each, ids.emplace_back()); });
}

bool read_children(JsonReader& reader, std::string_view key, JsonValue value, CpuNode& node) {
    return read_ids(reader, key, value, node.children);
}

bool read_parent(JsonReader& reader, std::string_view key, JsonValue value, CpuNode& node) {
    return reader.read(key, value, node.parent_id.emplace());
}

bool read_cpu_nodes(JsonReader& reader, std::string_view key, JsonValue value, CpuProfile& file) {
    constexpr std::array kFields{
        JsonField<CpuNode>{"id", &CpuNode::id, true},
        JsonField<CpuNode>{"callFrame", read_call_frame, true},
        JsonField<CpuNode>{"hitCount", &CpuNode::hits},
        JsonField<CpuNode>{"children", read_children},
        JsonField<CpuNode>{"parent", read_parent},
    };
    file.has_nodes = true;
    return reader.objects(key, value, "nodes[", [&](JsonObject each) {
        CpuNode& node = file.nodes.emplace_back();
        return reader.read(each, node, kFields) &&
               (file.index_of_id.emplace(node.id, file.nodes.size() - 1).second ||
                reader.fail("its id, " + std::to_string(node.id) + ", appears twice"));
    });
}

bool read_sampled_ids(JsonReader& reader, std::string_view key, JsonValue value, CpuProfile& file) {
    return read_ids(reader, key, value, file.samples);
}

bool read_deltas(JsonReader& reader, std::string_view key, JsonValue value, CpuProfile& file) {
    return reader.array(key, value, [&](JsonValue each) {
        return reader.read(key, each, file.deltas_us.emplace_back());
    });
}

constexpr std::array kProfileFields{
    JsonField<CpuProfile>{"nodes", read_cpu_nodes},
    JsonField<CpuProfile>{"samples", read_sampled_ids},
    JsonField<CpuProfile>{"timeDeltas", read_deltas},
    JsonField<CpuProfile>{"startTime", &CpuProfile::start_us},
    JsonField<CpuProfile>{"endTime", &CpuProfile::end_us},
};

/// What the protocol's Profiler.stop answers has the profile inside.
bool read_wrapped(JsonReader& reader, std::string_view key, JsonValue value, CpuProfile& file) {
    JsonObject profile;
    return reader.read(key, value, profile) && reader.read(profile, file, kProfileFields);
}

/// What is wrong; empty: nothing.
using Problem = std::string;

std::string node_called(const CpuNode& node) {
    return "node " + std::to_string(node.id);
}

/// Sets CpuNode::parent from what both sides say.
Problem link(CpuProfile& file) {
    const auto join = [&file](std::uint64_t parent_id, std::uint64_t child_id) -> Problem {
        const auto parent = file.index_of_id.find(parent_id);
        const auto child = file.index_of_id.find(child_id);
        if (parent == file.index_of_id.end() || child == file.index_of_id.end()) {
            return "there is no node " +
                   std::to_string(parent == file.index_of_id.end() ? parent_id : child_id);
        }
        CpuNode& node = file.nodes[child->second];
        if (node.parent != kNone && node.parent != parent->second) {
            return node_called(node) + " has two parents";
        }
        node.parent = parent->second;
        return {};
    };
    Problem problem;
    for (std::size_t i = 0; i < file.nodes.size() && problem.empty(); ++i) {
        const CpuNode& node = file.nodes[i];
        for (std::size_t j = 0; j < node.children.size() && problem.empty(); ++j) {
            problem = join(node.id, node.children[j]);
        }
        if (problem.empty() && node.parent_id) {
            problem = join(*node.parent_id, node.id);
        }
    }
    return problem;
}

/// From 1 on; 0: not known.
std::uint32_t counted_from_one(double number) {
    constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
    return number >= 0 && number < kMost ? static_cast<std::uint32_t>(number) + 1 : 0;
}

void place(CpuNode& node, ProfileMaker::Place parent, ProfileMaker& maker) {
    const bool is_root = node.parent == kNone && node.frame.name == "(root)";
    if (is_root) {
        node.place = parent;
        return;
    }
    FunctionKey key;
    key.name = node.frame.name.empty() ? std::string_view{"(anonymous)"} : node.frame.name;
    key.source = node.frame.url;
    key.line = counted_from_one(node.frame.line);
    key.column = counted_from_one(node.frame.column);
    const FunctionId function = maker.function(key);
    if (node.frame.name == "(garbage collector)") {
        maker.profile().memory = function;
    }
    node.place = maker.child(parent, function);
}

/// Gives all nodes their places, parents first.
Problem place_all(CpuProfile& file, ProfileMaker& maker) {
    const ProfileMaker::Place top = maker.category("all");
    std::vector<std::vector<std::size_t>> children(file.nodes.size());
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < file.nodes.size(); ++i) {
        const std::size_t parent = file.nodes[i].parent;
        (parent == kNone ? pending : children[parent]).push_back(i);
    }
    std::size_t placed = 0;
    while (!pending.empty()) {
        CpuNode& node = file.nodes[pending.back()];
        const std::vector<std::size_t>& below = children[pending.back()];
        pending.pop_back();
        pending.insert(pending.end(), below.rbegin(), below.rend());
        place(node, node.parent == kNone ? top : file.nodes[node.parent].place, maker);
        ++placed;
    }
    return placed == file.nodes.size() ? maker.problem() : "nodes are below each other in a circle";
}

struct Moment {
    double at_us = 0;
    std::size_t node = 0;
};

/// Adds the samples, each of which lasts until the next one.
Problem add_samples(CpuProfile& file, ProfileMaker& maker) {
    if (file.samples.size() != file.deltas_us.size()) {
        return "has " + std::to_string(file.samples.size()) + " samples and " +
               std::to_string(file.deltas_us.size()) + " timeDeltas";
    }
    std::vector<Moment> moments;
    double at_us = 0;
    for (std::size_t i = 0; i < file.samples.size(); ++i) {
        const auto node = file.index_of_id.find(file.samples[i]);
        at_us += file.deltas_us[i];
        if (node == file.index_of_id.end() || !(std::abs(at_us) < kMaxUs)) {
            return numbered("samples[", i) + (node == file.index_of_id.end()
                                                  ? ": there is no such node"
                                                  : ": is later than 62 bits can say");
        }
        moments.push_back({at_us, node->second});
    }
    // V8 writes samples of several sources, with deltas below 0 where one came late.
    std::stable_sort(moments.begin(), moments.end(),
                     [](const Moment& a, const Moment& b) { return a.at_us < b.at_us; });
    const std::uint32_t thread = maker.thread({});
    const double length_us = std::min(file.end_us - file.start_us, kMaxUs);
    for (std::size_t i = 0; i < moments.size(); ++i) {
        const double begin_us = moments[i].at_us;
        const double end_us =
            i + 1 < moments.size() ? moments[i + 1].at_us : std::max(length_us, begin_us);
        const auto begin_ns = static_cast<std::int64_t>(std::round(begin_us * kNsPerUs));
        const auto end_ns = static_cast<std::int64_t>(std::round(end_us * kNsPerUs));
        maker.add(file.nodes[moments[i].node].place, static_cast<std::uint64_t>(end_ns - begin_ns),
                  1, thread, end_ns);
    }
    callgraph::Profile& profile = maker.profile();
    profile.stats.clock = "wall";
    if (length_us > 0) {
        profile.stats.wall_ns = static_cast<std::uint64_t>(length_us * kNsPerUs);
    }
    return maker.problem();
}

/// Without times the hits are what there is.
Problem add_hits(const CpuProfile& file, ProfileMaker& maker) {
    for (const CpuNode& node : file.nodes) {
        maker.add(node.place, node.hits, node.hits);
    }
    maker.profile().event = "samples";
    maker.profile().metric.unit = "samples";
    return maker.problem();
}

}  // namespace

Result<callgraph::Profile> read_cpu_profile(std::string_view text, const Options& options) {
    CpuProfile file;
    JsonReader reader{text};
    const auto fields = [] {
        std::array<JsonField<CpuProfile>, kProfileFields.size() + 1> all{};
        std::copy(kProfileFields.begin(), kProfileFields.end(), all.begin());
        all.back() = {"profile", read_wrapped};
        return all;
    }();
    if (!reader.document([&](JsonObject root) {
            return reader.read(root, file, fields) &&
                   (file.has_nodes || reader.fail("nodes is missing"));
        })) {
        return unexpected(reader.error());
    }
    ProfileMaker maker{options};
    Problem problem = link(file);
    if (problem.empty()) {
        problem = place_all(file, maker);
    }
    if (problem.empty()) {
        problem = file.deltas_us.empty() ? add_hits(file, maker) : add_samples(file, maker);
    }
    if (!problem.empty()) {
        return unexpected(ErrorCode::corrupt, problem);
    }
    return std::move(maker).finish();
}

}  // namespace sample::imports
