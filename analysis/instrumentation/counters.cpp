#include "analysis/instrumentation/counters.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sample::analysis {
namespace {

bool is_less(const CounterPoint& left, const CounterPoint& right) {
    return left.value < right.value;
}

}  // namespace

double CounterSeries::min() const {
    return std::min_element(points.begin(), points.end(), is_less)->value;
}

double CounterSeries::max() const {
    return std::max_element(points.begin(), points.end(), is_less)->value;
}

double CounterSeries::mean(std::uint64_t end_ns) const {
    double sum = 0;
    double plain_sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::uint64_t until =
            i + 1 < points.size() ? points[i + 1].time_ns : std::max(end_ns, points[i].time_ns);
        sum += points[i].value * static_cast<double>(until - points[i].time_ns);
        plain_sum += points[i].value;
    }
    const std::uint64_t begin_ns = points.front().time_ns;
    const std::uint64_t last_ns = std::max(end_ns, points.back().time_ns);
    return last_ns > begin_ns ? sum / static_cast<double>(last_ns - begin_ns)
                              : plain_sum / static_cast<double>(points.size());
}

std::vector<std::optional<double>> CounterSeries::peaks(std::uint64_t begin_ns,
                                                        std::uint64_t end_ns,
                                                        std::size_t count) const {
    std::vector<std::optional<double>> peaks(count);
    const double width =
        static_cast<double>(end_ns - std::min(begin_ns, end_ns)) / static_cast<double>(count);
    std::optional<double> now;
    std::size_t next = 0;
    const auto offset = [&](std::size_t point) {
        return static_cast<double>(points[point].time_ns -
                                   std::min(begin_ns, points[point].time_ns));
    };
    for (std::size_t part = 0; part < count; ++part) {
        const double begin = width * static_cast<double>(part);
        while (next < points.size() && offset(next) <= begin) {
            now = points[next++].value;
        }
        peaks[part] = now;
        while (next < points.size() && (part + 1 == count || offset(next) < begin + width)) {
            now = points[next++].value;
            peaks[part] = std::max(peaks[part].value_or(*now), *now);
        }
    }
    return peaks;
}

void Counters::add(const trace::CounterValue& value) {
    const double number =
        std::visit([](auto any) { return static_cast<double>(any); }, value.value);
    series_[value.counter].points.push_back({value.time_ns, number});
}

std::vector<CounterSeries> Counters::finish() && {
    std::vector<CounterSeries> all;
    for (auto& [id, series] : series_) {
        if (series.points.empty()) {
            continue;
        }
        std::stable_sort(series.points.begin(), series.points.end(),
                         [](const CounterPoint& left, const CounterPoint& right) {
                             return left.time_ns < right.time_ns;
                         });
        all.push_back(std::move(series));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const CounterSeries& left, const CounterSeries& right) {
                         return left.spec.name < right.spec.name;
                     });
    return all;
}

}  // namespace sample::analysis
