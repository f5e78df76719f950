// Counts the words of a made-up text, again and again: the program that scripts/demo profiles.
//
// Usage: word_count [SECONDS] (default 3). Two threads split, count and rank; the names of the
// functions are what the report should show. Ends with 0 and prints the most frequent word.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Counts = std::unordered_map<std::string, int>;

std::string make_text(std::uint32_t seed, std::size_t words) {
    std::string text;
    for (std::size_t word = 0; word < words; ++word) {
        seed = seed * 1664525U + 1013904223U;
        // Squared, so that some words are much more frequent than others.
        const std::uint32_t skewed = (seed >> 20U) * (seed >> 20U) >> 12U;
        text += "word" + std::to_string(skewed) + ' ';
    }
    return text;
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t end = text.find(' '); end != std::string_view::npos; end = text.find(' ')) {
        words.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return words;
}

Counts count_words(const std::vector<std::string_view>& words) {
    Counts counts;
    for (const std::string_view word : words) {
        ++counts[std::string{word}];
    }
    return counts;
}

std::string most_frequent_word(const Counts& counts) {
    std::vector<std::pair<int, std::string>> ranked;
    ranked.reserve(counts.size());
    for (const auto& [word, count] : counts) {
        ranked.emplace_back(count, word);
    }
    std::sort(ranked.rbegin(), ranked.rend());
    return ranked.front().second;
}

std::string analyse(std::chrono::steady_clock::time_point until) {
    std::string winner;
    for (std::uint32_t round = 0; std::chrono::steady_clock::now() < until; ++round) {
        const std::string text = make_text(round, 50'000);
        winner = most_frequent_word(count_words(split_words(text)));
    }
    return winner;
}

}  // namespace

int main(int argc, char** argv) {
    const std::chrono::duration<double> seconds{argc > 1 ? std::strtod(argv[1], nullptr) : 3.0};
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds);
    std::string other;
    std::thread helper{[&] { other = analyse(until); }};
    const std::string winner = analyse(until);
    helper.join();
    std::printf("most frequent: %s, %s\n", winner.c_str(), other.c_str());
    return 0;
}
