#include "heard.h"

namespace sample::receivers_test {

void Heard::record_same(const std::string& channels, const e2e::Words& command,
                        const e2e::RunOptions& options) {
    const e2e::Outcome bare = run_here(command, options);
    ASSERT_EQ(bare.exit_code, 0) << bare.err;
    e2e::Words words = {"--quiet", "--freq", "off", "--trace", channels, "-o", recording(), "--"};
    words.insert(words.end(), command.begin(), command.end());
    const e2e::Outcome heard = sample(words, options);
    EXPECT_EQ(heard.out, bare.out);
    EXPECT_EQ(heard.err, bare.err);
    EXPECT_EQ(heard.exit_code, 0);
}

nlohmann::json Heard::view(const std::string& name) const {
    const e2e::Outcome outcome = sample({"report", "--view", name, "--json", recording()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
}

Counts Heard::counts(const std::string& view_name, const char* list) const {
    Counts found;
    const nlohmann::json shown = view(view_name);
    for (const nlohmann::json& each : shown[list]) {
        const std::string category = each.contains("category") && each["category"].is_string()
                                         ? each["category"].get<std::string>() + ": "
                                         : "";
        found[category + each["name"].get<std::string>()] += each["count"].get<int>();
    }
    return found;
}

std::map<std::string, double> Heard::counters() const {
    std::map<std::string, double> found;
    const nlohmann::json shown = view("counters");
    for (const nlohmann::json& each : shown["counters"]) {
        found[each["name"].get<std::string>()] = each["last"].get<double>();
    }
    return found;
}

std::vector<std::string> Heard::log() const {
    std::vector<std::string> found;
    const nlohmann::json shown = view("log");
    for (const nlohmann::json& each : shown["log"]) {
        found.push_back(each["text"].get<std::string>());
    }
    return found;
}

bool Heard::has_value(const std::string& text) const {
    // As `sample trace dump` has them: bytes of CBOR, each a number.
    std::string bytes;
    for (const char letter : text) {
        bytes += "," + std::to_string(static_cast<unsigned char>(letter));
    }
    return sample({"trace", "dump", "--json", recording()}).out.find(bytes) != std::string::npos;
}

std::vector<std::string> Heard::thread_names() const {
    std::vector<std::string> found;
    const nlohmann::json shown = view("threads");
    for (const nlohmann::json& each : shown["threads"]) {
        found.push_back(each["name"].get<std::string>());
    }
    return found;
}

}  // namespace sample::receivers_test
