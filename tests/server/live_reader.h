// A reader of live data as docs/format-live.md describes it: adds up what it is sent.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace sample::server {

class LiveReader {
public:
    /// A snapshot's text, or a delta's.
    void take(const std::string& text, bool is_snapshot) {
        const nlohmann::json message = nlohmann::json::parse(text);
        if (is_snapshot) {
            *this = {};
        }
        for (const auto& [key, value] : message.items()) {
            if (key == "modules" || key == "functions" || key == "categories") {
                for (const nlohmann::json& one : value) {
                    state_[key].push_back(one);
                }
            } else if (key == "threads" || key == "nodes") {
                for (const nlohmann::json& row : value) {
                    rows_[key][row[0]] = row;
                }
            } else if (key == "changed") {
                for (const nlohmann::json& row : value) {
                    nlohmann::json& node = rows_.at("nodes").at(row[0]);
                    node[kSelf] = row[1];
                    node[kSelf + 1] = row[2];
                    node[kSelf + 2] = row[3];
                }
            } else if (key == "gone") {
                for (const nlohmann::json& number : value) {
                    rows_.at("nodes").erase(number);
                }
            } else {
                state_[key] = value;
            }
        }
    }
    /// All that is known: the same of equal knowledge, however it came.
    [[nodiscard]] nlohmann::json all() const {
        nlohmann::json all = state_;
        for (const auto& [key, rows] : rows_) {
            for (const auto& [number, row] : rows) {
                all[key].push_back(row);
            }
        }
        return all;
    }
    [[nodiscard]] std::uint64_t sequence() const { return state_.value("sequence", 0U); }
    /// What all nodes have of their own.
    [[nodiscard]] std::uint64_t self_sum() const {
        std::uint64_t sum = 0;
        for (const auto& [number, row] : rows_.at("nodes")) {
            sum += row[kSelf].get<std::uint64_t>();
        }
        return sum;
    }

private:
    static constexpr std::size_t kSelf = 3;  ///< In a node's row.

    nlohmann::json state_ = nlohmann::json::object();
    std::map<std::string, std::map<std::uint32_t, nlohmann::json>> rows_;
};

}  // namespace sample::server
