#include "sampler/source/capabilities.h"

#include "core/fd.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace sample::sampler {
namespace {

constexpr unsigned kCapSysAdmin = 21;  // capabilities(7)
constexpr unsigned kCapPerfmon = 38;

/// Files in /proc say nothing of their size; these are short.
std::string read_small_file(const char* path) {
    const Fd fd{::open(path, O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> buffer{};
    while (fd.is_open()) {
        const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
        if (count <= 0) {
            break;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
}

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

bool opens(bool sigtrap, bool exclude_kernel, int& errno_value) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1'000'000;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.inherit_thread = 1;
    attributes.exclude_kernel = exclude_kernel ? 1 : 0;
    attributes.exclude_hv = 1;
    if (sigtrap) {
        attributes.remove_on_exec = 1;  // sigtrap asks for it: perf_event_open(2)
        attributes.sigtrap = 1;
    }
    const Fd fd{static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC))};
    if (!fd.is_open()) {
        errno_value = errno;
    }
    return fd.is_open();
}

OpenAttempt attempt(bool sigtrap) {
    OpenAttempt result;
    result.works = opens(sigtrap, false, result.errno_value);
    if (!result.works && (result.errno_value == EACCES || result.errno_value == EPERM)) {
        result.works = opens(sigtrap, true, result.errno_value);
        result.exclude_kernel = result.works;
    }
    return result;
}

std::string why_not(const OpenAttempt& refused, const Capabilities& capabilities) {
    switch (refused.errno_value) {
        case EACCES:
        case EPERM:
            return capabilities.process.seccomp_mode != 0
                       ? "perf_event_open is refused, by a seccomp filter or by "
                         "kernel.perf_event_paranoid"
                       : "kernel.perf_event_paranoid refuses it to unprivileged users";
        case ENOSYS:
            return capabilities.process.seccomp_mode != 0 ? "a seccomp filter hides perf_event_open"
                                                          : "this kernel has no perf_event_open";
        case EINVAL:
        case E2BIG:
            return "this kernel does not know it (it needs Linux 5.13)";
        default:
            return "perf_event_open says: " +
                   std::string{::strerrordesc_np(refused.errno_value) == nullptr
                                   ? "unknown error"
                                   : ::strerrordesc_np(refused.errno_value)};
    }
}

void advise_on_permission(const Capabilities& capabilities, std::vector<Advice>& advice) {
    constexpr const char* kAllow = "sudo sysctl kernel.perf_event_paranoid=1";
    const OpenAttempt& best = capabilities.sigtrap.works ? capabilities.sigtrap : capabilities.perf;
    const bool paranoid = capabilities.perf_event_paranoid.value_or(0) > 1;
    const bool privileged = capabilities.process.cap_perfmon || capabilities.process.cap_sys_admin;
    if (best.works && best.exclude_kernel) {
        advice.push_back(
            {"time inside the kernel is measured, but not sampled: what a system call "
             "costs shows as [kernel, caller unseen]",
             kAllow});
    } else if (!best.works && paranoid && !privileged) {
        advice.push_back({"kernel.perf_event_paranoid is " +
                              std::to_string(*capabilities.perf_event_paranoid) +
                              ": unprivileged users may not sample at all",
                          kAllow});
    } else if (!best.works && capabilities.process.seccomp_mode != 0) {
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
    result.sigtrap = attempt(true);
    result.perf = attempt(false);
    return result;
}

std::string_view source_name(SourceKind kind) noexcept {
    switch (kind) {
        case SourceKind::sigtrap:
            return "sigtrap";
        case SourceKind::perf:
            return "perf";
        case SourceKind::none:
            break;
    }
    return "none";
}

SourceChoice choose_source(const Capabilities& capabilities) {
    if (capabilities.sigtrap.works) {
        return {SourceKind::sigtrap, {}};
    }
    const std::string reason = "no sigtrap: " + why_not(capabilities.sigtrap, capabilities);
    if (capabilities.perf.works) {
        return {SourceKind::perf, reason};
    }
    return {SourceKind::none, "no perf: " + why_not(capabilities.perf, capabilities)};
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
            {"sampling costs the program more without sigtrap; Linux 5.13 and later "
             "have it",
             ""});
    }
    if (capabilities.process.tracer_pid != 0) {
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

}  // namespace sample::sampler
