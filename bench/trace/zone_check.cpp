// Whether the zones of a recording are whole: each thread's edges in the order of their times,
// every end with its begin.
//
// usage: trace_zone_check FILE
#include "core/mapped_file.h"
#include "trace/recording_reader.h"

#include <fmt/format.h>

#include <cstdint>
#include <unordered_map>

namespace {

using sample::trace::EdgeKind;

class Check final : public sample::trace::RecordSink {
public:
    void record(const sample::trace::Record& /*record*/) override {}
    void node(const sample::trace::StackNode& /*node*/) override {}
    void sample(const sample::trace::Sample& /*sample*/) override {}
    void zone(const sample::trace::ZoneEdge& edge) override {
        Thread& thread = threads_[edge.thread.value];
        out_of_order_ += edge.time_ns < thread.newest_ns ? 1 : 0;
        thread.newest_ns = edge.time_ns;
        if (edge.kind == EdgeKind::begin) {
            ++begun_;
            ++thread.open;
        } else if (thread.open == 0) {
            ++ends_without_begin_;
        } else {
            --thread.open;
        }
    }

    void tell() const {
        std::uint64_t open = 0;
        for (const auto& [id, thread] : threads_) {
            open += thread.open;
        }
        fmt::print("recorded={}\nthreads={}\nout_of_order={}\nends_without_begin={}\nopen={}\n",
                   begun_, threads_.size(), out_of_order_, ends_without_begin_, open);
    }

private:
    struct Thread {
        std::uint64_t newest_ns = 0;
        std::uint64_t open = 0;
    };
    std::unordered_map<std::uint32_t, Thread> threads_;
    std::uint64_t begun_ = 0;
    std::uint64_t out_of_order_ = 0;
    std::uint64_t ends_without_begin_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    const auto file = sample::MappedFile::open(argv[1]);
    if (!file) {
        fmt::print(stderr, "{}\n", file.error().message());
        return 1;
    }
    Check check;
    const auto outcome = sample::trace::read_recording(file->bytes(), check);
    if (!outcome) {
        fmt::print(stderr, "{}\n", outcome.error().message());
        return 1;
    }
    check.tell();
}
