// What a program said in words: bookmarks and log messages, by time.
#pragma once

#include "core/ids.h"
#include "trace/instrumentation.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::analysis {

class Messages {
public:
    /// A message as its program meant it.
    struct Line {
        std::uint64_t time_ns = 0;
        ThreadId thread;
        const trace::MessageSpec* spec = nullptr;  ///< Never; valid as long as the Messages.
        std::string text;
    };

    void define(const trace::MessageSpec& spec) { specs_[spec.id] = spec; }
    void add(const trace::Message& message) { messages_.push_back(message); }
    /// Behind the last one: sorts them by time.
    void finish();
    void keep(const std::function<bool(std::uint64_t time_ns)>& is_wanted) {
        std::erase_if(messages_, [&](const auto& each) { return !is_wanted(each.time_ns); });
    }

    [[nodiscard]] std::size_t size() const noexcept { return messages_.size(); }
    /// The text is made now.
    [[nodiscard]] Line line(std::size_t index) const;

private:
    std::unordered_map<trace::MessageId, trace::MessageSpec> specs_;
    std::vector<trace::Message> messages_;
};

}  // namespace sample::analysis
