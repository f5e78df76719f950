// How long each export format takes for a large profile, how much it writes, and the memory that
// the process needs for it, the profile included.
//
// Each format is written by a process of its own, to /dev/null, so that the disk is not measured.
// peak_mib is the highest that the process had from the start of the export to its end; the first
// line says what the profile alone needs.
//
// usage: export_profile [FORMAT...]      (default: every format)
#include "analysis/export_format.h"
#include "bench/export/made_up_profile.h"
#include "core/fd.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace {

/// "VmHWM", "VmRSS": in MiB. Source: proc(5).
double status_mib(std::string_view key) {
    constexpr double kKibPerMib = 1024.0;
    std::ifstream status{"/proc/self/status"};
    std::string line;
    while (std::getline(status, line)) {
        if (line.starts_with(key)) {
            return std::strtod(line.c_str() + key.size() + 1, nullptr) / kKibPerMib;
        }
    }
    return 0;
}

/// From now on the highest is counted anew. Source: proc(5), /proc/pid/clear_refs, value 5.
void forget_peak() {
    std::ofstream{"/proc/self/clear_refs"} << "5";
}

int measure(const sample::callgraph::Profile& profile,
            const sample::analysis::ExportFormat& format) {
    const sample::Fd null{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    std::uint64_t bytes = 0;
    const sample::exports::Sink sink = [&](std::string_view piece) {
        bytes += piece.size();
        return ::write(null.get(), piece.data(), piece.size()) < 0
                   ? sample::unexpected(sample::Error::from_errno("cannot write"))
                   : sample::Result<void>{};
    };
    forget_peak();
    const auto start = std::chrono::steady_clock::now();
    const auto written = format.write(profile, sink);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!written) {
        std::fprintf(stderr, "%s\n", written.error().message().c_str());
        return 1;
    }
    std::printf("%-12.*s %8.2f s %10.1f MB %8.0f MiB\n", static_cast<int>(format.name.size()),
                format.name.data(), took.count(), static_cast<double>(bytes) / 1e6,
                status_mib("VmHWM"));
    std::fflush(stdout);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    const std::span wanted{words + 1, static_cast<std::size_t>(count - 1)};
    const sample::bench::Size size;
    const sample::callgraph::Profile profile = sample::bench::make_profile(size);
    ::malloc_trim(0);
    std::printf("%zu nodes, %llu samples, %zu functions: %.0f MiB\n", profile.nodes.size(),
                static_cast<unsigned long long>(size.samples), profile.functions.size(),
                status_mib("VmRSS"));
    std::printf("%-12s %10s %13s %12s\n", "format", "time", "written", "peak");
    std::fflush(stdout);
    int failures = 0;
    for (const sample::analysis::ExportFormat& format : sample::analysis::export_formats()) {
        if (!wanted.empty() &&
            std::find(wanted.begin(), wanted.end(), format.name) == wanted.end()) {
            continue;
        }
        const pid_t child = ::fork();
        if (child == 0) {
            std::_Exit(measure(profile, format));
        }
        int status = 0;
        failures += child < 0 || ::waitpid(child, &status, 0) != child || status != 0 ? 1 : 0;
    }
    return failures == 0 ? 0 : 1;
}
