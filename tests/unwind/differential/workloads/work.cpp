// Much for a compiler to do: templates that instantiate templates, regular expressions, lambdas.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

template <int N>
struct Fibonacci {
    static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <>
struct Fibonacci<0> {
    static constexpr long value = 0;
};
template <>
struct Fibonacci<1> {
    static constexpr long value = 1;
};

template <int I>
struct Item {
    std::array<int, I + 1> values{};
    bool operator<(const Item& other) const { return values < other.values; }
};

template <int I>
int work(int seed) {
    std::map<Item<I>, std::variant<int, std::string, Item<I>>> map;
    std::unordered_map<std::string, std::vector<Item<I>>> groups;
    for (int i = 0; i < seed; ++i) {
        Item<I> item;
        std::generate(item.values.begin(), item.values.end(), [&seed, i] { return seed ^ i * I; });
        map.emplace(item, std::to_string(i));
        groups[std::to_string(i % 7)].push_back(item);
    }
    int sum = 0;
    for (auto& [name, items] : groups) {
        std::stable_sort(items.begin(), items.end());
        sum += std::visit([](const auto& value) { return static_cast<int>(sizeof(value)); },
                          map[items.front()]);
    }
    return sum;
}

template <int... I>
auto all(std::integer_sequence<int, I...> /*indices*/) {
    return std::array<std::function<int(int)>, sizeof...(I)>{
        [](int seed) { return work<I>(seed); }...};
}

}  // namespace

int main(int argc, char** argv) {
    const std::regex pattern{"(a|b)*c{2,3}[d-f]?"};
    int sum = static_cast<int>(Fibonacci<80>::value & 0xff);
    for (const auto& function : all(std::make_integer_sequence<int, 24>())) {
        sum += function(argc);
    }
    std::cout << sum << std::regex_match(argv[0], pattern) << '\n';
}
