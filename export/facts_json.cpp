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

void add_stats(Json& out, const Profile& profile) {
    const callgraph::Stats& stats = profile.stats;
    const std::string weight = profile.is_time() ? "_ns" : "_count";
    out["requested_hz"] = number_or_null(stats.requested_hz);
    out["achieved_hz"] = or_null(stats.achieved_hz);
    out["period"] = number_or_null(stats.period);
    out["clock"] = text_or_null(stats.clock);
    out["source"] = text_or_null(stats.source);
    out["wall_ns"] = stats.wall_ns;
    out["process_cpu_ns"] = or_null(stats.process_cpu_ns);
    out["samples"] = stats.samples;
    out["sampled" + weight] = stats.sampled_ns;
    out["booked" + weight] = stats.booked_ns;
    out["lost"] = stats.lost;
    out["truncated_stacks"] = stats.truncated_stacks;
    out["truncated" + weight] = stats.truncated_ns;
    out["incomplete_stacks"] = stats.incomplete_stacks;
    out["incomplete" + weight] = stats.incomplete_ns;
    out["guessed_stacks"] = stats.guessed_stacks;
    out["guessed" + weight] = stats.guessed_ns;
    out["whole"] = stats.whole;
    out["notes"] = stats.notes;
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
    add_stats(out, profile);
    out["processes"] = processes_json(profile);
    out["modules"] = modules_json(profile);
    constexpr int kNoIndent = -1;
    return out.dump(kNoIndent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sample::exports
