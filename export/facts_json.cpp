#include "export/facts_json.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace sample::exports {

namespace {

using callgraph::Profile;
using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json number_or_null(std::uint64_t number) {
    return number == 0 ? Json() : Json(number);
}

Json processes_json(const Profile& profile) {
    Json list = Json::array();
    for (const callgraph::ProcessTotals& process : profile.processes) {
        list.push_back({{"pid", process.pid},
                        {"executable", process.executable},
                        {"command", process.command_line},
                        {"ending", text_or_null(process.ending)}});
    }
    return list;
}

Json modules_json(const Profile& profile) {
    Json list = Json::array();
    for (const callgraph::CodeModule& module : profile.modules) {
        list.push_back({{"name", text_or_null(module.name)},
                        {"path", text_or_null(module.path)},
                        {"build_id", text_or_null(module.build_id)}});
    }
    return list;
}

void add_truth(Json& out, const Profile& profile) {
    const callgraph::Truth& truth = profile.truth;
    const std::string weight = profile.is_time() ? "_ns" : "_count";
    out["requested_hz"] = number_or_null(truth.requested_hz);
    out["achieved_hz"] = or_null(truth.achieved_hz);
    out["period"] = number_or_null(truth.period);
    out["clock"] = text_or_null(truth.clock);
    out["source"] = text_or_null(truth.source);
    out["wall_ns"] = truth.wall_ns;
    out["process_cpu_ns"] = or_null(truth.process_cpu_ns);
    out["samples"] = truth.samples;
    out["sampled" + weight] = truth.sampled_ns;
    out["booked" + weight] = truth.booked_ns;
    out["lost"] = truth.lost;
    out["truncated_stacks"] = truth.truncated_stacks;
    out["truncated" + weight] = truth.truncated_ns;
    out["incomplete_stacks"] = truth.incomplete_stacks;
    out["incomplete" + weight] = truth.incomplete_ns;
    out["guessed_stacks"] = truth.guessed_stacks;
    out["guessed" + weight] = truth.guessed_ns;
    out["whole"] = truth.whole;
    out["notes"] = truth.notes;
}

}  // namespace

std::string facts_json(const Profile& profile) {
    Json out;
    out["command"] = profile.command_line;
    out["start_unix_ms"] = number_or_null(profile.start_unix_ms);
    out["end_unix_ms"] = number_or_null(profile.end_unix_ms);
    out["event"] = text_or_null(profile.event);
    out["unit"] = profile.is_time() ? "nanoseconds" : profile.unit;
    out["scale"] = profile.scale;
    add_truth(out, profile);
    out["processes"] = processes_json(profile);
    out["modules"] = modules_json(profile);
    constexpr int kNoIndent = -1;
    return out.dump(kNoIndent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sample::exports
