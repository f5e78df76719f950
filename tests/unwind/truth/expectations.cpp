// Reading and checking the table; the contracts are in the header.
#include "tests/unwind/truth/expectations.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace sample::unwind::truth {

namespace {

/// Whether a frame that is not there is followed by others depends on what a register holds by
/// chance: "wrong/frame place" of "wrong/root place", and all others as they are.
std::string class_of(const std::string& key) {
    constexpr std::string_view kRoot = "wrong/root ";
    return key.rfind(kRoot, 0) == 0 ? "wrong/frame " + key.substr(kRoot.size()) : key;
}

/// "verdict module:*" of "verdict module:function".
std::string whole_module(const std::string& key) {
    return key.substr(0, key.find(':') + 1) + "*";
}

Unexpected malformed(const std::string& path, const char* what, const std::string& line) {
    return unexpected(ErrorCode::corrupt,
                      std::string{path}.append(": ").append(what).append(": ").append(line));
}

}  // namespace

Result<Expectations> Expectations::read(const std::string& path, const std::string& config) {
    std::ifstream file{path};
    if (!file) {
        return unexpected(Error::from_errno("cannot open " + path));
    }
    Expectations expectations;
    std::set<std::string> reasons;
    std::string current;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') {
            continue;
        }
        std::istringstream words{line};
        std::string first;
        std::string second;
        std::string third;
        if (line.front() == ' ') {
            std::uint64_t maximum = 0;
            words >> maximum;
            if (!words || current.empty()) {
                return malformed(path, "no class or maximum", line);
            }
            for (std::string name; words >> name;) {
                if (name == config) {
                    expectations.maxima_[current] = maximum;
                }
            }
            continue;
        }
        words >> first >> second >> third;
        if (first == "reason" && !third.empty()) {
            reasons.insert(second);
        } else if (reasons.contains(third)) {
            current.assign(first).append(" ").append(second);
        } else {
            return malformed(path, "no reason", line);
        }
    }
    return expectations;
}

std::optional<std::string> Expectations::line_for(const std::string& key) const {
    for (const std::string& name : {class_of(key), whole_module(class_of(key))}) {
        if (maxima_.contains(name)) {
            return name;
        }
    }
    return std::nullopt;
}

std::vector<std::string> Expectations::check(const Report& report) const {
    std::vector<std::string> messages;
    std::map<std::string, Mismatch> found;
    for (const auto& [key, mismatch] : report.mismatches) {
        const auto line = line_for(key);
        if (!line) {
            messages.push_back("not listed: " + key + ", " + std::to_string(mismatch.count) +
                               " instructions, the first\n" + mismatch.example);
            continue;
        }
        Mismatch& sum = found[*line];
        sum.count += mismatch.count;
        sum.example = mismatch.example;
    }
    for (const auto& [line, maximum] : maxima_) {
        const Mismatch& mismatch = found[line];
        if (mismatch.count == 0) {
            messages.push_back("listed, but no longer there: " + line +
                               "; take it out of the table\n");
        } else if (mismatch.count > maximum) {
            messages.push_back("more than listed: " + line + ", " + std::to_string(mismatch.count) +
                               " instructions instead of " + std::to_string(maximum) +
                               ", for example\n" + mismatch.example);
        }
    }
    return messages;
}

std::string expected_lines(const std::string& config, const Report& report) {
    constexpr std::size_t kMostPlaces = 4;
    std::map<std::string, std::size_t> places;
    for (const auto& [key, mismatch] : report.mismatches) {
        ++places[whole_module(class_of(key))];
    }
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [key, mismatch] : report.mismatches) {
        const std::string name = class_of(key);
        const std::string module = whole_module(name);
        const bool is_one_of_many = !mismatch.is_wrong && places[module] > kMostPlaces;
        counts[is_one_of_many ? module : name] += mismatch.count;
    }
    std::ostringstream lines;
    for (const auto& [line, count] : counts) {
        lines << config << ' ' << line << ' ' << count + (count + 3) / 4 << '\n';
    }
    return lines.str();
}

}  // namespace sample::unwind::truth
