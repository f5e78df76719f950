// Two lines on one side of a comparison: what it is, and how it was recorded.
#include "cli/views/diff.h"
#include "cli/views/text.h"
#include "cli/views/view_parts.h"

#include <algorithm>

namespace sample::cli {

std::string diff_side_view(const char* letter, const DiffSide& side, const analysis::Amount& whole,
                           const Terminal& terminal) {
    constexpr std::size_t kGap = 2;
    const callgraph::Profile& profile = side.profile;
    const callgraph::Stats& stats = profile.stats;
    const std::string file = printable(side.file);
    std::string command = printable(profile.command_line);
    const std::size_t used = kGap + 1 + display_width(file) + kGap;
    if (terminal.width != 0) {
        constexpr std::size_t kLeast = 20;
        command = shorten_name(command, std::max(terminal.width, used + kLeast) - used, terminal);
    }
    std::string out = styled(terminal, Style::bold, std::string{letter} + "  " + file) +
                      (command.empty() ? "" : "  " + command) + "\n   ";
    out += weight_text(profile, whole.ns);
    if (profile.is_time() && !stats.clock.empty()) {
        out += " of " + std::string{stats.clock == "cpu" ? "CPU" : "wall"} + " time";
    }
    if (profile.scale != 1.0) {
        out += " (" + scale_text(profile.scale, terminal) + ")";
    }
    out += ", " +
           (whole.samples == 0 ? "number of samples not known" : counted(whole.samples, "sample"));
    if (stats.requested_hz != 0) {
        out += ", " + grouped(stats.requested_hz) + " Hz";
    }
    if (stats.period != 0) {
        out += ", one in " + grouped(stats.period);
    }
    if (!stats.source.empty()) {
        out += " by " + printable(stats.source);
    }
    if (session_ms(profile) != 0) {
        out += ", " + session_length(session_ms(profile));
    }
    return out + "\n";
}

}  // namespace sample::cli
