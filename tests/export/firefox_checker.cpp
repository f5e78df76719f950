#include "tests/export/firefox_checker.h"

#include <cmath>
#include <optional>
#include <set>
#include <string_view>

namespace sample::exports {

namespace {

using nlohmann::json;

class Checker {
public:
    explicit Checker(const json& profile) : profile_{profile} {}

    std::vector<std::string> run() {
        if (!has(profile_, "profile", {"meta", "libs", "shared", "counters", "threads"})) {
            return problems_;
        }
        check_meta();
        check_libs();
        check_shared();
        if (problems_.empty()) {
            check_stacks();
            check_threads();
            check_counters();
        }
        return problems_;
    }

private:
    void fail(const std::string& what) {
        constexpr std::size_t kEnough = 50;
        if (problems_.size() < kEnough) {
            problems_.push_back(what);
        }
    }

    bool has(const json& object, const std::string& place,
             std::initializer_list<const char*> keys) {
        bool is_complete = object.is_object();
        if (!is_complete) {
            fail(place + " is no object");
        }
        for (const char* key : keys) {
            if (is_complete && !object.contains(key)) {
                fail(place + " lacks " + key);
                is_complete = false;
            }
        }
        return is_complete;
    }

    void check_meta() {
        const json& meta = profile_["meta"];
        if (!has(meta, "meta",
                 {"preprocessedProfileVersion", "version", "interval", "startTime", "processType",
                  "product", "stackwalk", "symbolicated", "markerSchema", "categories"})) {
            return;
        }
        if (meta["preprocessedProfileVersion"] != 66) {
            fail("meta: not version 66");
        }
        if (!meta["interval"].is_number() || meta["interval"] <= 0) {
            fail("meta.interval is not above 0");
        }
        bool has_default = false;
        for (const json& category : meta["categories"]) {
            if (!has(category, "category", {"name", "color", "subcategories"})) {
                return;
            }
            has_default = has_default || category["color"] == "grey";
            if (category["subcategories"].empty() || category["subcategories"][0] != "Other") {
                fail("category " + category["name"].dump() + " has no subcategory Other first");
            }
        }
        if (!has_default) {
            fail("meta.categories: none is grey");
        }
    }

    void check_libs() {
        for (const json& lib : profile_["libs"]) {
            if (!has(lib, "lib",
                     {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"})) {
                return;
            }
            const std::string id = lib["breakpadId"];
            constexpr std::size_t kBreakpadDigits = 33;
            if ((!id.empty() && id.size() != kBreakpadDigits) ||
                id.find_first_not_of("0123456789ABCDEF") != std::string::npos) {
                fail("lib " + lib["name"].dump() + ": breakpadId " + id);
            }
        }
    }

    /// A table of `shared`, or nullptr if it is not whole.
    const json* table(const json& owner, const std::string& key,
                      std::initializer_list<const char*> columns) {
        if (!has(owner, "owner of " + key, {key.c_str()}) || !has(owner[key], key, {"length"}) ||
            !has(owner[key], key, columns)) {
            return nullptr;
        }
        const json& found = owner[key];
        for (const char* column : columns) {
            if (!found[column].is_array() || found[column].size() != found["length"]) {
                fail(key + "." + column + " has not " + found["length"].dump() + " values");
                return nullptr;
            }
        }
        return &found;
    }

    enum class Nulls { refused, allowed };

    /// Every value is an integer from `least` to below `end`.
    void check_range(const json* of, const std::string& place, const char* column,
                     std::int64_t least, std::size_t end, Nulls nulls = Nulls::refused) {
        if (of == nullptr) {
            return;
        }
        for (const json& value : (*of)[column]) {
            if (value.is_null() && nulls == Nulls::allowed) {
                continue;
            }
            if (!value.is_number_integer() || value < least ||
                value.get<std::int64_t>() >= static_cast<std::int64_t>(end)) {
                fail(place + "." + column + ": " + value.dump() + " is out of range");
                return;
            }
        }
    }

    void check_shared() {
        const json& shared = profile_["shared"];
        if (!has(shared, "shared", {"stringArray", "sourceLocationTable"})) {
            return;
        }
        const std::size_t strings = shared["stringArray"].size();
        const std::set<json> distinct(shared["stringArray"].begin(), shared["stringArray"].end());
        if (distinct.size() != strings) {
            fail("stringArray has the same string twice");
        }
        const json* stacks = table(shared, "stackTable", {"frame", "prefixOffset"});
        const json* frames =
            table(shared, "frameTable",
                  {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                   "innerWindowID", "line", "column", "originalLocation"});
        const json* functions = table(shared, "funcTable",
                                      {"name", "isJS", "relevantForJS", "resource", "source",
                                       "lineNumber", "columnNumber", "originalLocation"});
        const json* resources = table(shared, "resourceTable", {"lib", "name", "host", "type"});
        const json* symbols =
            table(shared, "nativeSymbols", {"libIndex", "address", "name", "functionSize"});
        const json* sources =
            table(shared, "sources",
                  {"id", "filename", "startLine", "startColumn", "sourceMapURL", "content"});
        if (!problems_.empty()) {
            return;
        }
        const auto length = [](const json* of) { return (*of)["length"].get<std::size_t>(); };
        constexpr std::size_t kAny = std::size_t{1} << 31;
        check_range(stacks, "stackTable", "frame", 0, length(frames));
        check_range(stacks, "stackTable", "prefixOffset", 0, length(stacks));
        check_range(frames, "frameTable", "func", 0, length(functions));
        check_range(frames, "frameTable", "inlineDepth", 0, kAny);
        check_range(frames, "frameTable", "nativeSymbol", 0, length(symbols), Nulls::allowed);
        check_range(frames, "frameTable", "line", 1, kAny, Nulls::allowed);
        check_range(frames, "frameTable", "category", 0, profile_["meta"]["categories"].size());
        check_range(functions, "funcTable", "name", 0, strings);
        check_range(functions, "funcTable", "resource", -1, length(resources));
        check_range(functions, "funcTable", "source", 0, length(sources), Nulls::allowed);
        check_range(functions, "funcTable", "lineNumber", 1, kAny, Nulls::allowed);
        check_range(resources, "resourceTable", "lib", 0, profile_["libs"].size(), Nulls::allowed);
        check_range(resources, "resourceTable", "name", 0, strings);
        check_range(symbols, "nativeSymbols", "libIndex", 0, profile_["libs"].size());
        check_range(symbols, "nativeSymbols", "name", 0, strings);
        check_range(sources, "sources", "filename", 0, strings);
        check_subcategories(*frames);
    }

    void check_subcategories(const json& frames) {
        if (!problems_.empty()) {
            return;
        }
        for (std::size_t i = 0; i < frames["length"]; ++i) {
            const json& category =
                profile_["meta"]["categories"][frames["category"][i].get<std::size_t>()];
            const json& value = frames["subcategory"][i];
            if (!value.is_number_integer() || value < 0 ||
                value >= category["subcategories"].size()) {
                fail("frameTable.subcategory: " + value.dump() + " is out of range");
                return;
            }
        }
    }

    /// A prefix comes first, and what is inlined has a caller that is inlined one time less into
    /// the same symbol.
    void check_stacks() {
        const json& stacks = profile_["shared"]["stackTable"];
        const json& frames = profile_["shared"]["frameTable"];
        for (std::size_t i = 0; i < stacks["length"]; ++i) {
            const std::size_t offset = stacks["prefixOffset"][i];
            if (offset > i) {
                fail("stack " + std::to_string(i) + " has a prefix before the first");
                continue;
            }
            const std::size_t frame = stacks["frame"][i];
            const int depth = frames["inlineDepth"][frame];
            if (depth == 0 || offset == 0) {
                continue;
            }
            const std::size_t caller = stacks["frame"][i - offset];
            if (frames["inlineDepth"][caller] != depth - 1 ||
                frames["nativeSymbol"][caller] != frames["nativeSymbol"][frame]) {
                fail("stack " + std::to_string(i) + " is inlined, but not into its caller");
            }
        }
    }

    void check_threads() {
        std::set<std::pair<json, json>> ids;
        for (const json& thread : profile_["threads"]) {
            if (!has(thread, "thread",
                     {"processType", "processStartupTime", "processShutdownTime", "registerTime",
                      "unregisterTime", "pausedRanges", "name", "isMainThread", "pid", "tid",
                      "samples", "markers"})) {
                return;
            }
            if (!thread["pid"].is_string() || !thread["name"].is_string()) {
                fail("thread: pid or name is no string");
            }
            if (!ids.emplace(thread["pid"], thread["tid"]).second) {
                fail("two threads are " + thread["pid"].dump() + "/" + thread["tid"].dump());
            }
            check_markers(thread);
            check_samples(thread);
        }
    }

    void check_markers(const json& thread) {
        const json* markers =
            table(thread, "markers", {"data", "name", "startTime", "endTime", "phase", "category"});
        check_range(markers, "markers", "name", 0, profile_["shared"]["stringArray"].size());
        check_range(markers, "markers", "category", 0, profile_["meta"]["categories"].size());
        check_range(markers, "markers", "phase", 0, 2);
        std::set<json> schemas;
        for (const json& schema : profile_["meta"]["markerSchema"]) {
            schemas.insert(schema["name"]);
        }
        for (std::size_t i = 0; markers != nullptr && i < (*markers)["length"]; ++i) {
            const json& end = (*markers)["endTime"][i];
            const bool is_interval = (*markers)["phase"][i] == 1;
            if (end.is_null() == is_interval ||
                (is_interval && end.get<double>() < (*markers)["startTime"][i].get<double>())) {
                fail("markers: " + std::to_string(i) + " ends at " + end.dump());
            }
            if (!schemas.contains((*markers)["data"][i]["type"])) {
                fail("markers: " + std::to_string(i) + " is of no schema");
            }
        }
    }

    void check_counters() {
        for (const json& counter : profile_["counters"]) {
            if (!has(counter, "counter",
                     {"name", "category", "description", "pid", "mainThreadIndex", "display"})) {
                return;
            }
            table(counter, "samples", {"time", "count"});
            const std::size_t thread = counter["mainThreadIndex"];
            if (thread >= profile_["threads"].size() ||
                profile_["threads"][thread]["pid"] != counter["pid"]) {
                fail("counter " + counter["name"].dump() + " is of another process's thread");
            }
            has(counter["display"], "counter.display",
                {"graphType", "unit", "color", "markerSchemaLocation", "sortWeight", "label",
                 "tooltipRows"});
        }
    }

    void check_samples(const json& thread) {
        const json* samples = table(thread, "samples", {"stack", "time", "weight"});
        if (samples == nullptr) {
            return;
        }
        check_range(samples, "samples", "stack", 0, profile_["shared"]["stackTable"]["length"],
                    Nulls::allowed);
        if (const json& type = (*samples)["weightType"];
            type != "tracing-ms" && type != "samples" && type != "bytes") {
            fail("samples.weightType: " + type.dump());
        }
        if (samples->contains("threadCPUDelta")) {
            table(thread, "samples", {"threadCPUDelta"});
            if (!profile_["meta"].contains("sampleUnits")) {
                fail("threadCPUDelta without meta.sampleUnits");
            }
        }
        double latest = -HUGE_VAL;
        for (const json& time : (*samples)["time"]) {
            if (!time.is_number() || time.get<double>() < latest) {
                fail("samples.time: " + time.dump() + " is before the one before");
                return;
            }
            latest = time;
        }
        for (std::size_t i = 0; i < (*samples)["length"]; ++i) {
            if ((*samples)["stack"][i].is_null() && (*samples)["weight"][i] != 0) {
                fail("samples: a row without a stack has weight");
                return;
            }
        }
    }

    const json& profile_;
    std::vector<std::string> problems_;
};

/// Self weights by stack; none for a stack without samples.
std::vector<std::optional<std::int64_t>> self_weights(const json& profile) {
    std::vector<std::optional<std::int64_t>> selves(
        profile["shared"]["stackTable"]["length"].get<std::size_t>());
    for (const json& thread : profile["threads"]) {
        const json& samples = thread["samples"];
        constexpr double kNsPerMs = 1e6;
        const double factor = samples["weightType"] == "tracing-ms" ? kNsPerMs : 1.0;
        for (std::size_t i = 0; i < samples["length"]; ++i) {
            if (!samples["stack"][i].is_null()) {
                auto& self = selves[samples["stack"][i].get<std::size_t>()];
                self = self.value_or(0) + std::llround(samples["weight"][i].get<double>() * factor);
            }
        }
    }
    return selves;
}

}  // namespace

std::vector<std::string> firefox_problems(const json& profile) {
    return Checker{profile}.run();
}

std::map<std::size_t, FirefoxTotals> firefox_totals(const json& profile) {
    const json& stacks = profile["shared"]["stackTable"];
    const json& functions = profile["shared"]["frameTable"]["func"];
    std::map<std::size_t, FirefoxTotals> totals;
    const auto selves = self_weights(profile);
    for (std::size_t stack = 0; stack < selves.size(); ++stack) {
        if (!selves[stack]) {
            continue;
        }
        std::set<std::size_t> seen;
        std::size_t at = stack;
        for (bool is_leaf = true;; is_leaf = false) {
            const std::size_t function = functions[stacks["frame"][at].get<std::size_t>()];
            totals[function].self += is_leaf ? *selves[stack] : 0;
            if (seen.insert(function).second) {
                totals[function].total += *selves[stack];
            }
            const std::size_t offset = stacks["prefixOffset"][at];
            if (offset == 0) {
                break;
            }
            at -= offset;
        }
    }
    return totals;
}

}  // namespace sample::exports
