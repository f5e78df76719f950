// Memory: what is left at the end, by who allocated it, and what came and went meanwhile.
#include "cli/views/program_text.h"
#include "cli/views/program_views.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

using analysis::Memory;
using analysis::MemoryStack;
using analysis::MemoryUse;

std::string bytes_text(std::uint64_t bytes) {
    constexpr double kKibi = 1024;
    auto value = static_cast<double>(bytes);
    const char* unit = "B";
    for (const char* const next : {"KiB", "MiB", "GiB", "TiB"}) {
        if (value < kKibi) {
            break;
        }
        value /= kKibi;
        unit = next;
    }
    return fmt::format("{:.4g} {}", value, unit);
}

std::string short_lived_text(const MemoryUse& use) {
    constexpr double kPercent = 100;
    return fmt::format("{:.0f}%", use.allocations == 0
                                      ? 0.0
                                      : kPercent * static_cast<double>(use.short_lived) /
                                            static_cast<double>(use.allocations));
}

Json use_json(const analysis::ProgramRecording& recording, const MemoryUse& use) {
    Json out = Json::object();
    out["live_bytes"] = use.live_bytes;
    out["live_blocks"] = use.live;
    out["peak_bytes"] = use.peak_bytes;
    out["peak_at_ns"] = use.allocations == 0 ? Json{} : Json(when_ns(recording, use.peak_ns));
    out["allocations"] = use.allocations;
    out["allocated_bytes"] = use.allocated_bytes;
    out["short_lived"] = use.short_lived;
    return out;
}

/// `use_of` and `name` of each row.
template <class UseOf, class Name>
Table table_of(std::size_t rows, const UseOf& use_of, const Name& name) {
    Table table;
    table.rows = rows;
    const auto figure = [&](const char* heading, auto text) {
        table.columns.push_back({"", heading, Kind::figure, [use_of, text](std::size_t row) {
                                     return Json(text(use_of(row)));
                                 }});
    };
    figure("live", [](const MemoryUse& use) { return bytes_text(use.live_bytes); });
    figure("blocks", [](const MemoryUse& use) { return grouped(use.live); });
    figure("peak", [](const MemoryUse& use) { return bytes_text(use.peak_bytes); });
    figure("allocated", [](const MemoryUse& use) { return bytes_text(use.allocated_bytes); });
    figure("times", [](const MemoryUse& use) { return grouped(use.allocations); });
    figure("<1 ms", short_lived_text);
    table.name = name;
    return table;
}

std::string path_of(const MemoryStack& stack) {
    if (stack.frames.empty()) {
        return "[no stack]";
    }
    std::string text;
    for (const std::string& frame : stack.frames) {
        text += (text.empty() ? "" : " < ") + printable(frame);
    }
    return text;
}

using Rows = std::vector<std::pair<std::string, MemoryUse>>;

Rows used(const std::map<std::uint32_t, Memory::Named>& all, const char* nameless) {
    Rows rows;
    for (const auto& [id, each] : all) {
        if (each.use.allocations != 0) {
            rows.emplace_back(each.name.empty() ? nameless : each.name, each.use);
        }
    }
    return rows;
}

Json rows_json(const analysis::ProgramRecording& recording, const Rows& rows) {
    Json out = Json::array();
    for (const auto& [name, use] : rows) {
        Json row = use_json(recording, use);
        row["name"] = name;
        out.push_back(std::move(row));
    }
    return out;
}

std::string rows_text(const Rows& rows, const char* heading, const Terminal& terminal) {
    Table table = table_of(
        rows.size(), [&](std::size_t row) { return rows[row].second; },
        [&](std::size_t row, std::size_t room) {
            return cut_end(printable(rows[row].first), room, terminal);
        });
    table.name_heading = heading;
    return "\n" + text_of(table, terminal);
}

std::string below_memory(const analysis::ProgramRecording& recording) {
    const Memory& memory = *recording.memory;
    std::string text;
    if (memory.unknown_frees() != 0) {
        text += fmt::format("{} of blocks whose allocation was not recorded\n",
                            counted(memory.unknown_frees(), "free"));
    }
    if (memory.left_out() != 0) {
        text += fmt::format("{} not followed: too many blocks were live at once\n",
                            counted(memory.left_out(), "allocation"));
    }
    if (recording.events.lost_others != 0) {
        text += fmt::format(
            "{} were lost, allocations and frees among them perhaps: what is live is not exact\n",
            counted(recording.events.lost_others, "message"));
    }
    return text;
}

}  // namespace

std::string memory_view(const analysis::ProgramRecording& recording, const ViewOptions& options) {
    const Memory& memory = *recording.memory;
    const MemoryUse& total = memory.total();
    std::vector<const MemoryStack*> stacks;
    for (const MemoryStack& each : recording.memory_stacks) {
        if (path_of(each).find(options.search) != std::string::npos) {
            stacks.push_back(&each);
        }
    }
    const Rows tags = used(memory.tags(), "[no tag]");
    const Rows heaps = used(memory.heaps(), "malloc");
    if (options.json) {
        Json out = session_json(recording.session);
        Json all = use_json(recording, total);
        all["frees"] = memory.frees();
        all["reallocations"] = memory.reallocations();
        all["unknown_frees"] = memory.unknown_frees();
        all["not_followed"] = memory.left_out();
        all["lost"] = recording.events.lost_others;
        out["memory"] = std::move(all);
        Json rows = Json::array();
        for (const MemoryStack* each : stacks) {
            Json row = use_json(recording, each->use);
            row["frames"] = each->frames;
            rows.push_back(std::move(row));
        }
        out["call_stacks"] = std::move(rows);
        out["tags"] = rows_json(recording, tags);
        out["heaps"] = rows_json(recording, heaps);
        return dump(out);
    }
    constexpr std::size_t kMostRows = 40;
    const Terminal& terminal = options.terminal;
    std::string text = head_of(recording.session, terminal);
    if (total.allocations != 0) {
        text += fmt::format(
            "live at the end {} in {}; peak {} at {} s; allocated {} in {}, {} of them freed "
            "within "
            "1 ms\n",
            bytes_text(total.live_bytes), counted(total.live, "block"),
            bytes_text(total.peak_bytes), when_text(recording, total.peak_ns),
            bytes_text(total.allocated_bytes), counted(total.allocations, "allocation"),
            short_lived_text(total));
    }
    Table table = table_of(
        stacks.size(), [&](std::size_t row) { return stacks[row]->use; },
        [&](std::size_t row, std::size_t room) {
            return cut_end(path_of(*stacks[row]), room, terminal);
        });
    table.name_heading = "call stack, innermost first";
    table.empty = total.allocations == 0
                      ? "no allocations: record with --trace memory"
                      : "no call stack has a name with this text: leave --search out";
    text += text_of(table, terminal, kMostRows);
    if (tags.size() > 1) {
        text += rows_text(tags, "tag", terminal);
    }
    if (heaps.size() > 1) {
        text += rows_text(heaps, "heap", terminal);
    }
    return text + footer(recording.session, terminal, below_memory(recording));
}

}  // namespace sample::cli
