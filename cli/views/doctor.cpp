#include "cli/views/doctor.h"

#include "cli/views/json.h"
#include "cli/views/text.h"
#include "core/units.h"

#include <fmt/format.h>

#include <cstring>

namespace sample::cli {
namespace {

constexpr std::size_t kFactColumn = 28;

std::string number(const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "not there";
}

std::string outcome(const source::SourceFinding& finding) {
    if (finding.attempt.works) {
        return finding.attempt.exclude_kernel ? "works, but not for time inside the kernel"
                                              : "works";
    }
    const char* name = ::strerrorname_np(finding.attempt.errno_value);
    return fmt::format("does not work ({}): {}", name == nullptr ? "unknown error" : name,
                       finding.why_not);
}

std::string capabilities_text(const source::ProcessStatus& process) {
    std::string text = process.cap_perfmon ? "CAP_PERFMON" : "";
    if (process.cap_sys_admin) {
        text += text.empty() ? "CAP_SYS_ADMIN" : ", CAP_SYS_ADMIN";
    }
    return text.empty() ? "none of CAP_PERFMON, CAP_SYS_ADMIN" : text;
}

const char* seccomp_text(int mode) {
    constexpr const char* kModes[] = {"off", "strict", "filter"};
    return kModes[mode == 0 || mode == 1 ? mode : 2];
}

Json source_json(const source::SourceFinding& finding) {
    const source::OpenAttempt& attempt = finding.attempt;
    const char* name = attempt.errno_value == 0 ? nullptr : ::strerrorname_np(attempt.errno_value);
    return {{"works", attempt.works},
            {"exclude_kernel", attempt.exclude_kernel},
            {"refusal", name == nullptr ? Json{} : Json(name)},
            {"why_not", known(finding.why_not)},
            {"misses", control::describe(finding.source).misses},
            {"disturbs", control::describe(finding.source).disturbs}};
}

/// Of a CPU second, how much so many samples take, in per cent.
double percent_at(const source::SignalCost& cost, std::uint32_t hz) {
    return kHundred * static_cast<double>(cost.ns) * hz / kNsPerSecond;
}

std::string cost_text(const source::SignalCost& cost) {
    const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / kNsPerUs; };
    return fmt::format(
        "{:.1f} us ({:.1f} to {:.1f}) and its stack's walk: {:.2g} % of the CPU time at 1 kHz, "
        "{:.2g} % at 10 kHz",
        us(cost.ns), us(cost.low_ns), us(cost.high_ns), percent_at(cost, 1'000),
        percent_at(cost, 10'000));
}

Json cost_json(const source::SignalCost& cost) {
    return {{"ns", cost.ns},
            {"ns_low", cost.low_ns},
            {"ns_high", cost.high_ns},
            {"percent_at_1khz", percent_at(cost, 1'000)},
            {"percent_at_10khz", percent_at(cost, 10'000)}};
}

std::string kept_names_text(const NameCacheState& names) {
    if (names.folder.empty()) {
        return "none: neither XDG_CACHE_HOME nor HOME names a folder";
    }
    if (!names.is_used) {
        return "none: " + printable(names.folder) + " can't be used, or SAMPLE_CACHE is off";
    }
    constexpr double kMegabyte = 1e6;
    return fmt::format("{}: {} module{}, {:.1f} MB", printable(names.folder), names.files,
                       names.files == 1 ? "" : "s", static_cast<double>(names.bytes) / kMegabyte);
}

}  // namespace

std::string doctor_view(const source::Capabilities& capabilities, const NameCacheState& names,
                        const Terminal& terminal) {
    const source::SourceChoice choice = source::choose_source(capabilities);
    std::string out;
    const auto row = [&](std::string_view label, const std::string& value) {
        out += styled(terminal, Style::dim, pad_right(label, kFactColumn)) + value + "\n";
    };
    row("kernel", capabilities.kernel_release);
    row("perf_event_paranoid", number(capabilities.perf_event_paranoid));
    row("perf_event_max_sample_rate", number(capabilities.perf_event_max_sample_rate));
    row("perf_cpu_time_max_percent", number(capabilities.perf_cpu_time_max_percent));
    row("capabilities", capabilities_text(capabilities.process));
    row("seccomp", seccomp_text(capabilities.process.seccomp_mode));
    row("traced by", capabilities.process.tracer_pid == 0
                         ? "nobody"
                         : "process " + std::to_string(capabilities.process.tracer_pid));
    for (const source::SourceFinding& finding : source::judge_sources(capabilities)) {
        row("source " + std::string{control::describe(finding.source).name}, outcome(finding));
        row("  misses", std::string{control::describe(finding.source).misses});
        if (!control::describe(finding.source).disturbs.empty()) {
            row("  disturbs the program", std::string{control::describe(finding.source).disturbs});
        }
    }
    row("--source auto takes",
        styled(terminal, Style::bold, control::describe(choice.source).name) +
            (choice.reason.empty() ? "" : " (" + choice.reason + ")"));
    row("a sample costs", capabilities.sample_cost ? cost_text(*capabilities.sample_cost)
                                                   : "not measured: none could be taken");
    row("kept names", kept_names_text(names));
    for (const source::Advice& advice : source::advise(capabilities)) {
        out += "\n" + styled(terminal, Style::warning, advice.problem) + "\n";
        if (!advice.command.empty()) {
            out += "  try: " + styled(terminal, Style::bold, advice.command) + "\n";
        }
    }
    return out;
}

std::string doctor_json(const source::Capabilities& capabilities, const NameCacheState& names) {
    const source::SourceChoice choice = source::choose_source(capabilities);
    Json advice = Json::array();
    for (const source::Advice& item : source::advise(capabilities)) {
        advice.push_back({{"problem", item.problem}, {"command", known(item.command)}});
    }
    Json out = {{"kernel", capabilities.kernel_release},
                {"perf_event_paranoid", or_null(capabilities.perf_event_paranoid)},
                {"perf_event_max_sample_rate", or_null(capabilities.perf_event_max_sample_rate)},
                {"perf_cpu_time_max_percent", or_null(capabilities.perf_cpu_time_max_percent)},
                {"cap_perfmon", capabilities.process.cap_perfmon},
                {"cap_sys_admin", capabilities.process.cap_sys_admin},
                {"seccomp", seccomp_text(capabilities.process.seccomp_mode)},
                {"tracer_pid", known(capabilities.process.tracer_pid)}};
    for (const source::SourceFinding& finding : source::judge_sources(capabilities)) {
        out[std::string{control::describe(finding.source).name}] = source_json(finding);
    }
    out["auto_source"] = control::describe(choice.source).name;
    out["auto_source_reason"] = known(choice.reason);
    out["sample_cost"] = capabilities.sample_cost ? cost_json(*capabilities.sample_cost) : Json{};
    out["kept_names"] = {{"folder", known(names.folder)},
                         {"used", names.is_used},
                         {"files", names.files},
                         {"bytes", names.bytes}};
    out["advice"] = std::move(advice);
    return dump(out);
}

}  // namespace sample::cli
