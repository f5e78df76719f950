// The frames of each kind: how many, how long, and which took longest.
#include "cli/views/program_text.h"
#include "cli/views/program_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

using analysis::FramesOfKind;
using analysis::FrameSpan;

struct KindRow {
    const FramesOfKind* of = nullptr;
    std::vector<std::uint64_t> lengths_ns;  ///< Ascending.

    [[nodiscard]] std::uint64_t mean_ns() const {
        const std::uint64_t count = lengths_ns.size();
        std::uint64_t mean = 0;
        std::uint64_t rest = 0;  // a sum may be more than 64 bits
        for (const std::uint64_t length : lengths_ns) {
            mean += length / count;
            rest += length % count;
        }
        return count == 0 ? 0 : mean + rest / count;
    }
};

struct LengthBucket {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;  ///< Exclusive, but of the last one.
    std::uint64_t count = 0;
};

/// 1, 2 or 5 times a power of ten, at least `ns`.
std::uint64_t round_width(std::uint64_t ns) {
    std::uint64_t power = 1;
    while (power < ns / 10) {
        power *= 10;
    }
    for (const std::uint64_t digit : {1U, 2U, 5U, 10U}) {
        if (power * digit >= ns) {
            return power * digit;
        }
    }
    return power * 20;
}

/// Equally wide as far as the 99th percentile; the last one has all that is longer.
std::vector<LengthBucket> histogram_of(const std::vector<std::uint64_t>& lengths_ns) {
    constexpr std::uint64_t kBuckets = 12;
    constexpr double kNearlyAllFrames = 0.99;
    if (lengths_ns.empty()) {
        return {};
    }
    const std::uint64_t high = analysis::quantile(lengths_ns, kNearlyAllFrames);
    const std::uint64_t low = lengths_ns.front();
    const std::uint64_t width =
        std::max<std::uint64_t>(1, round_width((high - low) / kBuckets + 1));
    const std::uint64_t first = low / width * width;
    std::vector<LengthBucket> buckets;
    for (std::uint64_t i = 0; i <= (high - first) / width; ++i) {
        buckets.push_back({first + i * width, first + (i + 1) * width, 0});
    }
    for (const std::uint64_t length : lengths_ns) {
        const std::uint64_t index = (length - buckets.front().from_ns) / width;
        ++buckets[std::min<std::uint64_t>(index, buckets.size() - 1)].count;
    }
    LengthBucket& last = buckets.back();
    last.to_ns = std::max({last.from_ns, last.to_ns, lengths_ns.back()});  // which may have wrapped
    return buckets;
}

/// `recorded`: how many frames there are, whatever is shown of them.
Table kinds_table(const std::vector<KindRow>& rows, std::uint64_t recorded,
                  const Terminal& terminal) {
    constexpr double kTenths = 10.0;
    Table table;
    table.rows = rows.size();
    const auto of = values_of(rows);
    table.columns = {
        {"name", "", Kind::word, of([](const KindRow& row) { return row.of->name; })},
        {"kind", "", Kind::id, of([](const KindRow& row) { return row.of->kind; })},
        {"count", "frames", Kind::count,
         of([](const KindRow& row) { return row.of->frames.size(); })},
        {"unfinished", "", Kind::count, of([](const KindRow& row) { return row.of->unfinished; })},
        {"per_second", "", Kind::count, of([](const KindRow& row) {
             return std::round(row.of->per_second() * kTenths) / kTenths;
         })},
        {"", "per second", Kind::figure,
         of([](const KindRow& row) { return decimal(row.of->per_second(), 1); })}};
    add_duration(table, "mean_ns", "mean",
                 [&rows](std::size_t row) { return rows[row].mean_ns(); });
    const auto add_part = [&](const char* key, const char* heading, double share) {
        add_duration(table, key, heading, [&rows, share](std::size_t row) {
            return analysis::quantile(rows[row].lengths_ns, share);
        });
    };
    constexpr double kParts[] = {0.5, 0.95, 0.99};
    add_part("min_ns", is_narrow(terminal) ? "" : "min", 0);
    add_part("p50_ns", "p50", kParts[0]);
    add_part("p95_ns", is_narrow(terminal) ? "" : "p95", kParts[1]);
    add_part("p99_ns", "p99", kParts[2]);
    add_part("max_ns", "max", 1);
    table.name_heading = "kind";
    table.name = [&rows](std::size_t row, std::size_t /*room*/) {
        return printable(rows[row].of->name);
    };
    table.empty = none_of("frames", recorded);
    return table;
}

/// The first of `frames` in the order `order`.
Table slowest_table(const analysis::ProgramRecording& recording, const FramesOfKind& of,
                    const std::vector<std::uint32_t>& order) {
    Table table;
    table.rows = order.size();
    const auto frame = [&of, &order](auto get) {
        return [&of, &order, get](std::size_t row) { return Json(get(of.frames[order[row]])); };
    };
    table.columns = {
        {"frame", "frame", Kind::count, [&order](std::size_t row) { return Json(order[row] + 1); }},
        {"begin_ns", "", Kind::count,
         frame([&](const FrameSpan& each) { return when_ns(recording, each.begin_ns); })},
        {"", "at s", Kind::figure,
         frame([&](const FrameSpan& each) { return when_text(recording, each.begin_ns); })}};
    add_duration(table, "length_ns", "length",
                 [&of, &order](std::size_t row) { return of.frames[order[row]].length_ns(); });
    table.columns.push_back({"thread", "", Kind::word, frame([&](const FrameSpan& each) {
                                 return recording.thread_name(each.thread);
                             })});
    table.name_heading = "thread";
    table.name = [&recording, &of, &order](std::size_t row, std::size_t /*room*/) {
        return printable(recording.thread_name(of.frames[order[row]].thread));
    };
    return table;
}

std::string histogram_text(const std::vector<LengthBucket>& buckets, const Terminal& terminal) {
    constexpr std::size_t kBarWidth = 40;
    constexpr std::size_t kLength = 9;
    std::uint64_t most = 0;
    for (const LengthBucket& bucket : buckets) {
        most = std::max(most, bucket.count);
    }
    std::string text;
    for (const LengthBucket& bucket : buckets) {
        text += fmt::format(
            "{} {} {}  {}  {}\n", pad_left(brief_duration(bucket.from_ns), kLength),
            terminal.utf8 ? "–" : "-", pad_left(brief_duration(bucket.to_ns), kLength),
            pad_left(grouped(bucket.count), kLength), bar(bucket.count, most, kBarWidth, terminal));
    }
    return text;
}

Json histogram_json(const std::vector<LengthBucket>& buckets) {
    Json list = Json::array();
    for (const LengthBucket& bucket : buckets) {
        list.push_back(
            {{"from_ns", bucket.from_ns}, {"to_ns", bucket.to_ns}, {"count", bucket.count}});
    }
    return list;
}

}  // namespace

std::string frames_view(const analysis::ProgramRecording& recording, const ViewOptions& options) {
    constexpr std::size_t kSlowestInText = 10;
    constexpr std::size_t kSlowestInJson = 100;
    const Terminal& terminal = options.terminal;
    std::vector<KindRow> rows;
    for (const FramesOfKind& each : recording.events.frames) {
        if (each.name.find(options.search) != std::string::npos) {
            rows.push_back({&each, each.lengths_ns()});
        }
    }
    const Table kinds = kinds_table(rows, recording.session.stats.said.frames, terminal);
    Json list = options.json ? json_of(kinds) : Json{};
    std::string text = head_of(recording.session, terminal) + text_of(kinds, terminal);
    std::string below;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const FramesOfKind& of = *rows[i].of;
        std::vector<std::uint32_t> order = of.slowest();
        order.resize(std::min(order.size(), options.json ? kSlowestInJson : kSlowestInText));
        const std::vector<LengthBucket> buckets = histogram_of(rows[i].lengths_ns);
        const Table slowest = slowest_table(recording, of, order);
        if (options.json) {
            list[i]["histogram"] = histogram_json(buckets);
            list[i]["slowest"] = json_of(slowest);
            continue;
        }
        if (of.unfinished != 0) {
            below += fmt::format("{} ({}) have a beginning or an end alone\n",
                                 counted(of.unfinished, "frame"), printable(of.name));
        }
        if (!order.empty()) {
            text += fmt::format("\n{}\n{}\n{}",
                                styled(terminal, Style::bold, printable(of.name) + ", by length"),
                                histogram_text(buckets, terminal), text_of(slowest, terminal));
        }
    }
    if (options.json) {
        Json out = session_json(recording.session);
        out["frames"] = std::move(list);
        return dump(out);
    }
    return text + footer(recording.session, terminal, std::move(below));
}

}  // namespace sample::cli
