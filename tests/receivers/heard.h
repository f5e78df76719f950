// What a recording of what other instrumentation says has, by `sample report`.
#pragma once

#include "tests/e2e/session.h"

#include <map>
#include <string>
#include <vector>

namespace sample::receivers_test {

using Counts = std::map<std::string, int>;

class Heard : public e2e::Session {
protected:
    /// The command says the same bare, and while `sample --trace CHANNELS` records it.
    void record_same(const std::string& channels, const e2e::Words& command,
                     const e2e::RunOptions& options = {});

    /// How often each was: "category: name".
    [[nodiscard]] Counts zones() const { return counts("zones", "zones"); }
    [[nodiscard]] Counts regions() const { return counts("zones", "regions"); }
    [[nodiscard]] Counts frames() const { return counts("frames", "frames"); }
    /// The last value of each.
    [[nodiscard]] std::map<std::string, double> counters() const;
    /// All texts.
    [[nodiscard]] std::vector<std::string> log() const;
    [[nodiscard]] nlohmann::json view(const std::string& name) const;
    /// Whether a zone's values have this text, as a key or a value.
    [[nodiscard]] bool has_value(const std::string& text) const;
    [[nodiscard]] std::vector<std::string> thread_names() const;

private:
    [[nodiscard]] Counts counts(const std::string& view_name, const char* list) const;
};

}  // namespace sample::receivers_test
