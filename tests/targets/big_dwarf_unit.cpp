// One of the many units of big_dwarf, a program with some 50 MB of DWARF.
//
// It is compiled again and again with another SAMPLE_UNIT. The regular expressions, streams and
// sorted containers over types of its own make much DWARF of little text, as templates do, and
// -fno-eliminate-unused-debug-types keeps all that the headers bring.
#include "work.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <list>
#include <locale>
#include <map>
#include <memory_resource>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <regex>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <stack>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

namespace SAMPLE_UNIT {

struct Key {
    std::uint64_t value = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const Key&) const = default;
};

struct Entry {
    std::map<std::string, std::vector<std::uint64_t>> rows;
    std::unordered_map<std::uint64_t, std::string> names;
    std::map<Key, std::set<Key>> sets;
    std::unordered_map<std::string, std::deque<Key>> queues;
    std::variant<int, std::string, std::regex> rule;
};

template <unsigned N>
std::uint64_t sort_some(std::uint64_t state) {
    std::vector<std::pair<std::array<Key, N>, std::string>> rows(8);
    for (auto& [keys, text] : rows) {
        keys.fill(Key{state = targets::work_unit(state)});
        text = std::to_string(state % N);
    }
    std::stable_sort(rows.begin(), rows.end());
    std::ranges::sort(rows, std::greater<>{}, [](const auto& row) { return row.second; });
    std::map<std::array<Key, N>, std::string> sorted(rows.begin(), rows.end());
    std::priority_queue<std::pair<std::array<Key, N>, std::string>> queue(rows.begin(), rows.end());
    return sorted.size() + queue.size() + state;
}

template <unsigned... N>
std::uint64_t sort_all(std::uint64_t state, std::integer_sequence<unsigned, N...> /*sizes*/) {
    ((state = sort_some<N + 1>(state)), ...);
    return state;
}

[[gnu::noinline]] bool matches(const Entry& entry, const std::string& text) {
    return std::regex_search(text, std::get<std::regex>(entry.rule));
}

[[gnu::noinline]] std::uint64_t fill(Entry& entry, std::uint64_t state) {
    for (unsigned row = 0; row < 4; ++row) {
        state = targets::work_unit(state);
        auto& values = entry.rows[std::to_string(row)];
        values.assign(16, state);
        std::sort(values.begin(), values.end());
        entry.names.emplace(state, values.empty() ? "none" : "some");
    }
    entry.sets[Key{state}].insert(Key{state});
    entry.queues[entry.names[state]].push_back(Key{state});
    entry.rule = std::regex{"a*b", std::regex::icase};
    return matches(entry, entry.names[state]) ? state : state + 1;
}

std::uint64_t run(std::uint64_t state) {
    Entry entry;
    for (int unit = 0; unit < 50; ++unit) {
        state = targets::work_unit(state);
    }
    state = sort_all(state, std::make_integer_sequence<unsigned, 12>{});
    return fill(entry, state) + entry.rows.size();
}

}  // namespace SAMPLE_UNIT
