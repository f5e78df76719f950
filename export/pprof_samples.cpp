#include "export/pprof_samples.h"

#include <protozero/pbf_builder.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports::pprof {

namespace {

using callgraph::Profile;

/// Labels as a Sample's fields, ready to be appended to one.
class Labels {
public:
    explicit Labels(Stream& out) : out_{out} {}

    void add(std::string_view key, std::string_view value) {
        if (!value.empty()) {
            add(key, LabelField::str, out_.add_string(value));
        }
    }
    void add(std::string_view key, std::uint64_t value) {
        if (value != 0) {
            add(key, LabelField::num, value);
        }
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    void add(std::string_view key, LabelField kind, std::uint64_t value) {
        std::string label;
        protozero::pbf_builder<LabelField> message{label};
        message.add_uint64(LabelField::key, out_.intern_string(key));
        message.add_uint64(kind, value);
        protozero::pbf_builder<SampleField>{bytes_}.add_message(SampleField::label, label);
    }

    Stream& out_;
    std::string bytes_;
};

std::string thread_labels(const callgraph::ThreadTotals& thread, Stream& out) {
    Labels labels{out};
    labels.add("thread", thread.name);
    labels.add("tid", std::uint64_t{thread.tid});
    labels.add("process", thread.process);
    labels.add("pid", std::uint64_t{thread.pid});
    return labels.bytes();
}

/// What was spent in a stack itself.
struct Spent {
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;
};

class Samples {
public:
    Samples(const Profile& profile, const Locations& locations, Stream& out)
        : profile_{profile}, locations_{locations}, out_{out}, categories_(profile.nodes.size()) {
        of_category_.emplace_back();
        for (const callgraph::Category& category : profile.categories) {
            Labels labels{out};
            labels.add("category", category.name);
            categories_[category.node.value] = static_cast<std::uint32_t>(of_category_.size());
            of_category_.push_back(labels.bytes());
        }
    }

    void write_all() {
        if (profile_.timeline) {
            for (const callgraph::Timeline::Thread& thread : profile_.timeline->threads) {
                write(thread);
            }
            return;
        }
        for (std::uint32_t id = 0; id < profile_.nodes.size() && out_.is_good(); ++id) {
            const callgraph::Node& node = profile_.nodes[id];
            write(NodeId{id}, {node.self_ns, node.self_samples}, {});
        }
    }

private:
    void write(const callgraph::Timeline::Thread& thread) {
        const std::string labels =
            thread.thread ? thread_labels(profile_.threads[*thread.thread], out_) : std::string{};
        spent_.resize(profile_.nodes.size());
        callgraph::TimedWeight sample;
        for (auto reader = thread.samples->read(); reader.next(sample);) {
            const NodeId node = profile_.timeline->nodes[sample.place];
            if (node.is_none()) {
                continue;
            }
            Spent& spent = spent_[node.value];
            if (spent.weight == 0 && spent.samples == 0) {
                touched_.push_back(node);
            }
            spent.weight += sample.weight;
            spent.samples += sample.is_booking ? 0 : 1;
        }
        std::sort(touched_.begin(), touched_.end());  // Neighbours compress well.
        for (const NodeId node : touched_) {
            write(node, spent_[node.value], labels);
            spent_[node.value] = {};
        }
        touched_.clear();
    }

    void write(NodeId node, const Spent& spent, std::string_view labels) {
        if (spent.weight == 0 && spent.samples == 0) {
            return;
        }
        const NodeId category = locations_.path_of(node, path_);
        const std::array values{static_cast<std::int64_t>(spent.samples),
                                static_cast<std::int64_t>(spent.weight)};
        message_.clear();
        protozero::pbf_builder<SampleField> message{message_};
        message.add_packed_uint64(SampleField::location_id, path_.begin(), path_.end());
        message.add_packed_int64(SampleField::value, values.begin(), values.end());
        message_.append(labels).append(of_category_[categories_[category.value]]);
        out_.message(ProfileField::sample, message_);
    }

    const Profile& profile_;
    const Locations& locations_;
    Stream& out_;
    std::vector<std::uint32_t> categories_;  ///< By node: index into of_category_.
    std::vector<std::string> of_category_;   ///< Labels; [0] are those of no category.
    std::vector<Spent> spent_;               ///< By node.
    std::vector<NodeId> touched_;
    std::vector<std::uint64_t> path_;
    std::string message_;
};

}  // namespace

void write_samples(const Profile& profile, const Locations& locations, Stream& out) {
    Samples{profile, locations, out}.write_all();
}

}  // namespace sample::exports::pprof
