#include "export/pprof/samples.h"

#include "callgraph/intern_table.h"
#include "callgraph/tree.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sample::exports::pprof {

namespace {

using callgraph::Node;
using callgraph::Profile;

/// From nodes to the Locations of the format.
///
/// A Location is one place in machine code: a function at a line and, behind it, the functions that
/// it was inlined into, the outermost last. So a node that was inlined at every call shares its
/// Location with its callers down to the first that was really called; a node whose function was
/// inlined at some of its calls only stands by itself.
class Locations {
public:
    /// Writes every Location of `profile`, each once.
    Locations(const Profile& profile, Stream& out)
        : profile_{profile}, out_{out}, frames_(profile.nodes.size()) {
        for (const NodeId id : callgraph::preorder(profile)) {
            if (!profile.node(id).function.is_none()) {
                add(id);
            }
        }
    }

    /// Makes `path` the Locations of a node's stack, leaf first. Returns the category's node, or
    /// the root for a stack in no category.
    NodeId path_of(NodeId node, std::vector<std::uint64_t>& path) const {
        path.clear();
        while (frames_[node.value].location != 0) {
            path.push_back(frames_[node.value].location);
            node = frames_[node.value].caller;
        }
        return node;
    }

private:
    struct Frame {
        NodeId caller;  ///< The innermost function at work in the caller's place in code.
        std::uint32_t location = 0;  ///< 0: no function.
    };
    struct Location {
        std::uint32_t inlined_into = 0;  ///< Another Location; 0: none.
        FunctionId function;
        std::uint32_t line = 0;

        bool operator==(const Location&) const = default;
    };
    struct Traits {
        static std::uint64_t hash(const Location& key) {
            return callgraph::hash_pair(
                (std::uint64_t{key.inlined_into} << 32U) | key.function.value, key.line);
        }
        static bool equal(const Location& left, const Location& right) { return left == right; }
    };

    void add(NodeId id) {
        const Node& node = profile_.node(id);
        const FunctionId caller = profile_.node(node.parent).function;
        const bool is_inlined =
            node.inlining == callgraph::Inlining::all && !caller.is_none() && profile_.gc != caller;
        const Frame& parent = frames_[node.parent.value];
        const std::size_t known = known_.size();
        const std::uint32_t location =
            1 + known_.intern({is_inlined ? parent.location : 0, node.function, node.line});
        frames_[id.value] = {is_inlined ? parent.caller : node.parent, location};
        if (known_.size() != known) {
            write(location);
        }
    }

    void write(std::uint32_t location) {
        std::string bytes;
        protozero::pbf_builder<LocationField> message{bytes};
        message.add_uint64(LocationField::id, location);
        FunctionId outermost;
        for (std::uint32_t at = location; at != 0; at = known_[at - 1].inlined_into) {
            const Location& frame = known_[at - 1];
            outermost = frame.function;
            protozero::pbf_builder<LineField> line{message, LocationField::line};
            line.add_uint64(LineField::function_id, frame.function.value);
            if (frame.line != 0) {
                line.add_int64(LineField::line, frame.line);
            }
        }
        if (const std::uint32_t module = profile_.function(outermost).module; module != 0) {
            message.add_uint64(LocationField::mapping_id, module);
        }
        out_.message(ProfileField::location, bytes);
    }

    const Profile& profile_;
    Stream& out_;
    std::vector<Frame> frames_;                       ///< By node.
    callgraph::InternTable<Location, Traits> known_;  ///< [location - 1]
};

/// Labels as a Sample's fields, ready to be appended to one.
class Labels {
public:
    explicit Labels(Stream& out) : out_{out} {}

    Labels& add(std::string_view key, std::string_view value) {
        return value.empty() ? *this : add(key, LabelField::str, out_.add_string(value));
    }
    Labels& add(std::string_view key, std::uint64_t value) {
        return value == 0 ? *this : add(key, LabelField::num, value);
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    Labels& add(std::string_view key, LabelField kind, std::uint64_t value) {
        const std::uint64_t key_index = out_.intern_string(key);
        protozero::pbf_builder<SampleField> sample{bytes_};
        protozero::pbf_builder<LabelField> label{sample, SampleField::label};
        label.add_uint64(LabelField::key, key_index);
        label.add_uint64(kind, value);
        return *this;
    }

    Stream& out_;
    std::string bytes_;
};

/// What was spent in a stack itself.
struct Spent {
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;

    [[nodiscard]] bool is_nothing() const { return weight == 0 && samples == 0; }
};

class Samples {
public:
    Samples(const Profile& profile, Stream& out)
        : profile_{profile}, out_{out}, locations_{profile, out}, labels_of_(profile.nodes.size()) {
        for (const callgraph::Category& category : profile.categories) {
            labels_.push_back(Labels{out}.add("category", category.name).bytes());
            labels_of_[category.node.value] = static_cast<std::uint32_t>(labels_.size() - 1);
        }
    }

    void write_nodes() {
        for (std::uint32_t id = 0; id < profile_.nodes.size() && out_.is_good(); ++id) {
            const Node& node = profile_.nodes[id];
            write(NodeId{id}, {node.self_ns, node.self_samples}, {});
        }
    }

    void write_thread(const callgraph::Timeline::Thread& thread) {
        Labels labels{out_};
        if (thread.thread) {
            const callgraph::ThreadTotals& facts = profile_.threads[*thread.thread];
            labels.add("thread", facts.name).add("tid", std::uint64_t{facts.tid});
            labels.add("process", facts.process).add("pid", std::uint64_t{facts.pid});
        }
        spent_.resize(profile_.nodes.size());
        callgraph::TimedWeight sample;
        for (auto reader = thread.samples->read(); reader.next(sample);) {
            const NodeId node = profile_.timeline->nodes[sample.place];
            if (node.is_none()) {
                continue;
            }
            Spent& spent = spent_[node.value];
            if (spent.is_nothing()) {
                touched_.push_back(node);
            }
            spent.weight += sample.weight;
            spent.samples += sample.is_booking ? 0 : 1;
        }
        std::sort(touched_.begin(), touched_.end());  // Neighbours compress well.
        for (const NodeId node : touched_) {
            write(node, spent_[node.value], labels.bytes());
            spent_[node.value] = {};
        }
        touched_.clear();
    }

private:
    void write(NodeId node, const Spent& spent, std::string_view labels) {
        if (spent.is_nothing()) {
            return;
        }
        const NodeId category = locations_.path_of(node, path_);
        const std::array values{static_cast<std::int64_t>(spent.samples),
                                static_cast<std::int64_t>(spent.weight)};
        message_.clear();
        protozero::pbf_builder<SampleField> message{message_};
        message.add_packed_uint64(SampleField::location_id, path_.begin(), path_.end());
        message.add_packed_int64(SampleField::value, values.begin(), values.end());
        message_.append(labels).append(labels_[labels_of_[category.value]]);
        out_.message(ProfileField::sample, message_);
    }

    const Profile& profile_;
    Stream& out_;
    Locations locations_;
    std::vector<std::uint32_t> labels_of_;            ///< By a category's node: index into labels_.
    std::vector<std::string> labels_{std::string{}};  ///< [0] are those of no category.
    std::vector<Spent> spent_;                        ///< By node.
    std::vector<NodeId> touched_;
    std::vector<std::uint64_t> path_;
    std::string message_;
};

}  // namespace

void write_samples(const Profile& profile, Stream& out) {
    Samples samples{profile, out};
    if (!profile.timeline) {
        samples.write_nodes();
        return;
    }
    for (const callgraph::Timeline::Thread& thread : profile.timeline->threads) {
        samples.write_thread(thread);
    }
}

}  // namespace sample::exports::pprof
