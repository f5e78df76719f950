#include "export/pprof/places.h"
#include "export/shared/metric_view.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace sample::exports::pprof {

namespace {

using callgraph::Profile;

/// Labels as a Sample's fields, ready to be appended to one.
class Labels {
public:
    explicit Labels(Stream& out) : out_{out} {}

    Labels& add(std::string_view key, std::string_view value) {
        return value.empty() ? *this : add(key, LabelField::str, out_.string(value));
    }
    Labels& add(std::string_view key, std::uint64_t value) {
        return value == 0 ? *this : add(key, LabelField::num, value);
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    Labels& add(std::string_view key, LabelField kind, std::uint64_t value) {
        const std::uint64_t key_index = out_.string(key);
        protozero::pbf_builder<SampleField> sample{bytes_};
        protozero::pbf_builder<LabelField> label{sample, SampleField::label};
        label.add_uint64(LabelField::key, key_index);
        label.add_uint64(kind, value);
        return *this;
    }

    Stream& out_;
    std::string bytes_;
};

/// What was spent in a stack itself: the values of its Sample.
using Values = std::span<std::uint64_t>;

bool is_nothing(Values values) {
    return std::ranges::all_of(values, [](std::uint64_t each) { return each == 0; });
}

class Samples {
public:
    Samples(const Profile& profile, const Places& places, Stream& out)
        : profile_{profile},
          out_{out},
          views_{views_of(profile)},
          places_{places},
          labels_of_(profile.nodes.size()) {
        for (std::uint32_t id = 1; id <= profile.functions.size(); ++id) {
            const callgraph::Function& function = profile.function(FunctionId{id});
            if ((function.flags & callgraph::kZone) != 0) {
                zone_labels_.emplace(id, Labels{out}.add("zone", function.name).bytes());
            }
        }
        for (const callgraph::Category& category : profile.categories) {
            labels_.push_back(Labels{out}.add("category", category.name).bytes());
            labels_of_[category.node.value] = static_cast<std::uint32_t>(labels_.size() - 1);
        }
    }

    void write() {
        const auto threads = threads_of_views();
        if (threads.empty()) {
            write_nodes();
        }
        spent_.resize(threads.empty() ? 0 : profile_.nodes.size() * width_);
        for (const auto& [thread, series] : threads) {
            write_thread(thread, series);
        }
    }

private:
    /// One thread's samples of the metric views_[view].
    struct Series {
        std::size_t view = 0;
        const callgraph::SampleSeries* samples = nullptr;
    };
    static constexpr std::uint32_t kUnknownThread = 0xffffffff;

    [[nodiscard]] Values spent_at(NodeId node) {
        return Values{spent_}.subspan(node.value * width_, width_);
    }

    /// By index into Profile::threads, kUnknownThread behind them.
    [[nodiscard]] std::map<std::uint32_t, std::vector<Series>> threads_of_views() const {
        std::map<std::uint32_t, std::vector<Series>> threads;
        for (std::size_t view = 0; view < views_.size(); ++view) {
            if (const callgraph::Timeline* timeline = views_[view].timeline()) {
                for (const auto& [thread, samples] : timeline->threads) {
                    threads[thread.value_or(kUnknownThread)].push_back({view, samples.get()});
                }
            }
        }
        return threads;
    }

    void write_nodes() {
        std::vector<std::uint64_t> values(width_);
        for (std::uint32_t id = 0; id < profile_.nodes.size() && out_.is_good(); ++id) {
            values[0] = profile_.nodes[id].self_samples;
            for (std::size_t view = 0; view < views_.size(); ++view) {
                values[1 + view] = views_[view].self(NodeId{id});
            }
            write(NodeId{id}, values, {});
        }
    }

    void write_thread(std::uint32_t thread, const std::vector<Series>& series) {
        Labels labels{out_};
        if (thread != kUnknownThread) {
            const callgraph::ThreadTotals& facts = profile_.threads[thread];
            labels.add("thread", facts.name).add("tid", std::uint64_t{facts.tid});
            labels.add("process", facts.process).add("pid", std::uint64_t{facts.pid});
        }
        for (const Series& each : series) {
            add(each);
        }
        std::sort(touched_.begin(), touched_.end());  // Neighbours compress well.
        for (const NodeId node : touched_) {
            const Values spent = spent_at(node);
            write(node, spent, labels.bytes());
            std::fill(spent.begin(), spent.end(), 0);
        }
        touched_.clear();
    }

    void add(const Series& series) {
        const bool is_own = views_[series.view].is_own();
        const std::vector<NodeId>& nodes = views_[series.view].timeline()->nodes;
        callgraph::TimedWeight sample;
        for (auto reader = series.samples->read(); reader.next(sample);) {
            const NodeId node = nodes[sample.place];
            if (node.is_none()) {
                continue;
            }
            const Values spent = spent_at(node);
            if (is_nothing(spent)) {
                touched_.push_back(node);
            }
            spent[0] += is_own && !sample.is_booking ? 1 : 0;
            spent[1 + series.view] += sample.weight;
        }
    }

    void write(NodeId node, Values values, std::string_view labels) {
        if (is_nothing(values)) {
            return;
        }
        const NodeId category = places_.path_of(node, path_);
        message_.clear();
        protozero::pbf_builder<SampleField> message{message_};
        message.add_packed_uint64(SampleField::location_id, path_.begin(), path_.end());
        message.add_packed_int64(SampleField::value, values.begin(), values.end());
        message_.append(labels)
            .append(labels_[labels_of_[category.value]])
            .append(zone_label(node));
        out_.message(ProfileField::sample, message_);
    }

    /// Of the innermost zone that `node` is in; empty: of none.
    [[nodiscard]] std::string_view zone_label(NodeId node) const {
        for (; !zone_labels_.empty() && node.value != 0; node = profile_.node(node).parent) {
            const auto found = zone_labels_.find(profile_.node(node).function.value);
            if (found != zone_labels_.end()) {
                return found->second;
            }
        }
        return {};
    }

    const Profile& profile_;
    Stream& out_;
    std::vector<MetricView> views_;
    const std::size_t width_ = 1 + views_.size();  ///< Values of a Sample.
    const Places& places_;
    std::vector<std::uint32_t> labels_of_;            ///< By a category's node: index into labels_.
    std::vector<std::string> labels_{std::string{}};  ///< [0] are those of no category.
    /// By the FunctionId of what is a zone.
    std::unordered_map<std::uint32_t, std::string> zone_labels_;
    std::vector<std::uint64_t> spent_;  ///< By node and value.
    std::vector<NodeId> touched_;
    std::vector<std::uint64_t> path_;
    std::string message_;
};

}  // namespace

void write_samples(const Profile& profile, const Places& places, Stream& out) {
    Samples{profile, places, out}.write();
}

}  // namespace sample::exports::pprof
