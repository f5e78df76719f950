#include "tests/export/script_profiler_faults.h"

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace sample::exports {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostFaults = 20;
constexpr std::uint64_t kKnownFlags = 3;

class Checker {
public:
    explicit Checker(const Json& document) : document_{document} {}

    std::vector<std::string> run() {
        if (!document_.is_object()) {
            return {"the document is no object"};
        }
        check_root();
        if (!faults_.empty()) {
            return faults_;
        }
        for (std::size_t id = 1; id <= functions().size(); ++id) {
            check_function(id);
        }
        for (std::size_t id = 1; id <= nodes().size(); ++id) {
            check_node(id);
        }
        if (faults_.empty()) {
            for (std::size_t id = 1; id <= nodes().size(); ++id) {
                check_children(nodes()[id - 1], "node " + std::to_string(id));
            }
        }
        check_categories();
        check_reach();
        return faults_;
    }

private:
    [[nodiscard]] const Json& nodes() const { return document_["Nodes"]; }
    [[nodiscard]] const Json& functions() const { return document_["Functions"]; }

    void fault(const std::string& place, std::string_view what) {
        if (faults_.size() < kMostFaults) {
            faults_.push_back(place + ": " + std::string{what});
        }
    }

    static bool is_count(const Json& value) {
        return value.is_number_unsigned() ||
               (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    }

    void expect_counts(const Json& object, const std::string& place,
                       std::initializer_list<const char*> names) {
        for (const char* name : names) {
            if (object.contains(name) && !is_count(object[name])) {
                fault(place, std::string{name} + " is no count");
            }
        }
    }

    void check_root() {
        if (!document_.contains("Version") || document_["Version"] != 2) {
            fault("root", "Version is not 2");
        }
        for (const char* name : {"SessionStartTime", "SessionEndTime"}) {
            if (!document_.contains(name) || !is_count(document_[name])) {
                fault("root", std::string{name} + " is no time");
            }
        }
        for (const char* name : {"Categories", "Nodes", "Functions"}) {
            if (!document_.contains(name) || !document_[name].is_array()) {
                fault("root", std::string{name} + " is no array");
            }
        }
        if (document_.contains("GCFuncId") &&
            (!faults_.empty() || !is_id(document_["GCFuncId"], functions()))) {
            fault("root", "GCFuncId names no function");
        }
    }

    static bool is_id(const Json& value, const Json& of) {
        return is_count(value) && value.get<std::uint64_t>() >= 1 &&
               value.get<std::uint64_t>() <= of.size();
    }

    void check_function(std::size_t id) {
        const Json& function = functions()[id - 1];
        const std::string place = "function " + std::to_string(id);
        if (!function.is_object() || !function.contains("TotalDuration")) {
            return fault(place, "no TotalDuration");
        }
        expect_counts(function, place, {"TotalDuration", "Line", "Flags", "Samples"});
        for (const char* name : {"Name", "Source"}) {
            if (function.contains(name) && (!function[name].is_string() ||
                                            function[name].get_ref<const std::string&>().empty())) {
                fault(place, std::string{name} + " is no text");
            }
        }
        if (function.contains("Flags") && is_count(function["Flags"]) &&
            function["Flags"].get<std::uint64_t>() > kKnownFlags) {
            fault(place, "a flag that the format does not know");
        }
    }

    void check_node(std::size_t id) {
        const Json& node = nodes()[id - 1];
        const std::string place = "node " + std::to_string(id);
        if (!node.is_object() || !node.contains("TotalDuration")) {
            return fault(place, "no TotalDuration");
        }
        expect_counts(node, place, {"TotalDuration", "Samples", "Inlined", "CallLine"});
        if (node.contains("FunctionIds") != node.contains("NodeIds")) {
            fault(place, "one of FunctionIds and NodeIds is missing");
        }
    }

    /// The nodes and functions are well-formed.
    void check_children(const Json& node, const std::string& place) {
        if (!node.contains("NodeIds")) {
            return;
        }
        const Json& function_ids = node["FunctionIds"];
        const Json& node_ids = node["NodeIds"];
        if (!function_ids.is_array() || !node_ids.is_array() ||
            function_ids.size() != node_ids.size()) {
            return fault(place, "FunctionIds and NodeIds differ in length");
        }
        std::uint64_t sum = 0;
        std::set<std::uint64_t> seen;
        std::set<std::tuple<std::string, std::string, std::uint64_t>> seen_names;
        for (std::size_t i = 0; i < node_ids.size(); ++i) {
            if (!is_id(function_ids[i], functions()) || !is_id(node_ids[i], nodes())) {
                return fault(place, "a child's id is out of range");
            }
            const Json& child = nodes()[node_ids[i].get<std::size_t>() - 1];
            const Json& function = functions()[function_ids[i].get<std::size_t>() - 1];
            sum += child["TotalDuration"].get<std::uint64_t>();
            if (!seen.insert(function_ids[i].get<std::uint64_t>()).second) {
                fault(place, "two children of one function");
            }
            if (!seen_names
                     .emplace(function.value("Source", ""), function.value("Name", ""),
                              function.value("Line", std::uint64_t{0}))
                     .second) {
                fault(place, "two children that readers take for one");
            }
        }
        if (sum > node["TotalDuration"].get<std::uint64_t>()) {
            fault(place, "less than its children");
        }
    }

    void check_categories() {
        std::set<std::string> names;
        for (const Json& category : document_["Categories"]) {
            if (!category.is_object() || !category.contains("Name") ||
                !category["Name"].is_string() || !category.contains("NodeId") ||
                !is_id(category["NodeId"], nodes())) {
                fault("categories", "one without a name or a node");
            } else if (!names.insert(category["Name"].get<std::string>()).second) {
                fault("categories", "two of one name");
            }
        }
    }

    /// Every node hangs under exactly one category, by exactly one path.
    void check_reach() {
        if (!faults_.empty()) {
            return;
        }
        std::vector<int> parents(nodes().size() + 1);
        std::vector<std::size_t> pending;
        for (const Json& category : document_["Categories"]) {
            pending.push_back(category["NodeId"].get<std::size_t>());
            ++parents[pending.back()];
        }
        std::size_t reached = 0;
        while (!pending.empty() && reached <= nodes().size()) {
            ++reached;
            const Json& node = nodes()[pending.back() - 1];
            pending.pop_back();
            for (const Json& child : node.value("NodeIds", Json::array())) {
                pending.push_back(child.get<std::size_t>());
                ++parents[pending.back()];
            }
        }
        for (std::size_t id = 1; id < parents.size(); ++id) {
            if (parents[id] != 1) {
                fault("node " + std::to_string(id),
                      parents[id] == 0 ? "no category leads to it" : "it is reached twice");
            }
        }
    }

    const Json& document_;
    std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> script_profiler_faults(const Json& document) {
    return Checker{document}.run();
}

}  // namespace sample::exports
