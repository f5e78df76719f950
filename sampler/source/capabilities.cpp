#include "sampler/source/capabilities.h"

#include "core/fd.h"
#include "sampler/source/posix_timer.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

namespace sample::source {
namespace {

using control::Source;

constexpr unsigned kCapSysAdmin = 21;  // capabilities(7)
constexpr unsigned kCapPerfmon = 38;

template <class T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(first);
    T value{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return parsed.ec == std::errc{} ? std::optional{value} : std::nullopt;
}

OpenAttempt attempt_timer() {
    const TimerId timer = create_thread_timer(::gettid(), SIGURG, 0);
    if (timer < 0) {
        return {.errno_value = -timer};
    }
    delete_timer(timer);
    return {.works = true};
}

std::string why_not(const OpenAttempt& refused, const Capabilities& capabilities) {
    const bool filtered = capabilities.process.seccomp_mode != 0;
    switch (refused.errno_value) {
        case EACCES:
        case EPERM:
            return filtered ? "perf_event_open is refused, by a seccomp filter or by "
                              "kernel.perf_event_paranoid"
                            : "kernel.perf_event_paranoid refuses it to unprivileged users";
        case ENOSYS:
            return filtered ? "a seccomp filter hides perf_event_open"
                            : "this kernel has no perf_event_open";
        case EINVAL:
        case E2BIG:
            return "this kernel does not know it (sigtrap needs Linux 5.13)";
        default:
            break;
    }
    const char* text = ::strerrordesc_np(refused.errno_value);
    return "the kernel says: " + std::string{text == nullptr ? "unknown error" : text};
}

bool is_traced(const Capabilities& capabilities) {
    return capabilities.process.tracer_pid != 0;
}

void advise_on_permission(const Capabilities& capabilities, std::vector<Advice>& advice) {
    constexpr const char* kAllow = "sudo sysctl kernel.perf_event_paranoid=1";
    constexpr std::int64_t kLastThatAllowsAny = 2;
    const bool any_works = capabilities.sigtrap.works || capabilities.perf.works;
    const std::int64_t paranoid = capabilities.perf_event_paranoid.value_or(0);
    const bool privileged = capabilities.process.cap_perfmon || capabilities.process.cap_sys_admin;
    if (capabilities.sigtrap.works && capabilities.sigtrap.exclude_kernel) {
        advice.push_back(
            {"time inside the kernel is measured, but not sampled: what a system call "
             "costs shows as [kernel, caller unseen]",
             kAllow});
    }
    if (!any_works && paranoid > kLastThatAllowsAny && !privileged) {
        advice.push_back({"kernel.perf_event_paranoid is " + std::to_string(paranoid) +
                              ": unprivileged users may not use perf events",
                          kAllow});
    }
    if (!any_works && capabilities.process.seccomp_mode != 0) {
        advice.push_back({"a seccomp filter refuses perf_event_open, as containers do by default",
                          "docker run --cap-add PERFMON --security-opt seccomp=unconfined IMAGE"});
    }
}

}  // namespace

Capabilities probe_capabilities() {
    Capabilities result;
    utsname names{};
    if (::uname(&names) == 0) {
        result.kernel_release = names.release;
    }
    result.perf_event_paranoid =
        parse_number<std::int64_t>(read_small_file("/proc/sys/kernel/perf_event_paranoid"));
    result.perf_event_max_sample_rate =
        parse_number<std::int64_t>(read_small_file("/proc/sys/kernel/perf_event_max_sample_rate"));
    result.perf_cpu_time_max_percent =
        parse_number<std::int64_t>(read_small_file("/proc/sys/kernel/perf_cpu_time_max_percent"));
    result.process = parse_process_status(read_small_file("/proc/self/status"));
    result.sigtrap = try_event({}, true);
    result.perf = try_event({}, false);
    result.timer = attempt_timer();
    return result;
}

SourceChoice choose_source(const Capabilities& capabilities) {
    const bool traced = is_traced(capabilities);
    if (capabilities.sigtrap.works && !traced) {
        return {Source::sigtrap, {}};
    }
    std::string reason = traced ? "a debugger or tracer is attached, and would stop at each SIGTRAP"
                                : "no sigtrap: " + why_not(capabilities.sigtrap, capabilities);
    if (capabilities.perf.works) {
        return {Source::perf, std::move(reason)};
    }
    return {Source::thread, "no perf events: " + why_not(capabilities.perf, capabilities)};
}

std::vector<SourceFinding> judge_sources(const Capabilities& capabilities) {
    const auto finding = [&](Source source, const OpenAttempt& attempt) {
        return SourceFinding{source, attempt,
                             attempt.works ? std::string{} : why_not(attempt, capabilities)};
    };
    return {finding(Source::sigtrap, capabilities.sigtrap),
            finding(Source::perf, capabilities.perf), finding(Source::thread, {.works = true}),
            finding(Source::timer, capabilities.timer)};
}

std::vector<Advice> advise(const Capabilities& capabilities) {
    constexpr std::int64_t kHighestRate = 10'000;
    std::vector<Advice> advice;
    advise_on_permission(capabilities, advice);
    if (capabilities.perf_event_max_sample_rate.value_or(kHighestRate) < kHighestRate) {
        advice.push_back({"the kernel throttles sampling above " +
                              std::to_string(*capabilities.perf_event_max_sample_rate) +
                              " samples a second",
                          "sudo sysctl kernel.perf_event_max_sample_rate=100000"});
    }
    if (!capabilities.sigtrap.works && capabilities.perf.works) {
        advice.push_back(
            {"without sigtrap, who called into the kernel is not seen; Linux 5.13 and later "
             "have it",
             ""});
    }
    if (is_traced(capabilities)) {
        advice.push_back({"this process is traced by process " +
                              std::to_string(capabilities.process.tracer_pid) +
                              ": a debugger stops at each sample of sigtrap; run sample outside it",
                          ""});
    }
    return advice;
}

ProcessStatus parse_process_status(std::string_view text) {
    ProcessStatus status;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) {
            continue;
        }
        const std::string_view name = line.substr(0, colon);
        const std::string_view value = line.substr(colon + 1);
        if (name == "CapEff") {
            const auto mask = parse_number<std::uint64_t>(value, 16).value_or(0);
            status.cap_perfmon = (mask >> kCapPerfmon & 1) != 0;
            status.cap_sys_admin = (mask >> kCapSysAdmin & 1) != 0;
        } else if (name == "Seccomp") {
            status.seccomp_mode = parse_number<int>(value).value_or(0);
        } else if (name == "TracerPid") {
            status.tracer_pid = parse_number<std::uint32_t>(value).value_or(0);
        }
    }
    return status;
}

}  // namespace sample::source
