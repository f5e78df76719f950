// The lines of what `perf script` prints: the head of a sample, and a frame.
//
// perf pads and leaves out fields by its options, so that a head is known by its parts:
//
//     comm [pid/]tid [[cpu]] time: [period] event: [addr sym+off (dso)]
//     <tab>addr sym+off (dso)        also: sym (inlined), [unknown] (dso)
//       file.c:12                    with -F +srcline, below its frame; lib.so[1f]: not known
//
// Any of them may be missing. Without call chains a sample is one line, whose frame stands behind a
// space in sixteen columns; with them a head may be empty. A number alone is a tid, padded to five
// or seven columns, unless it fills ten, as periods do.
//
// Source: builtin-script.c and evsel_fprintf.c of Linux 6.1's perf; stackcollapse-perf.pl.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sample::imports {

/// The views are into the line.
struct PerfHead {
    std::string_view comm;
    std::uint32_t pid = 0;  ///< 0: not printed.
    std::uint32_t tid = 0;
    std::optional<std::int64_t> time_ns;
    std::optional<std::uint64_t> period;
    std::string_view event;  ///< Without modifiers: "cycles" of "cycles:uP"; empty: not printed.
    std::string_view rest;   ///< The frame in the line, or else what stands behind the event.
    bool has_frame = false;  ///< A frame stands in the line, in perf's columns.
    bool is_other_record = false;  ///< "PERF_RECORD_COMM: …": no sample.
};

/// None if `line` is no head of a sample with its ids and its time.
[[nodiscard]] std::optional<PerfHead> perf_head(std::string_view line);
/// The same for a head that has only some of the fields. Any text is one: at least a name.
[[nodiscard]] PerfHead perf_head_in_part(std::string_view line);

/// Whether `line` is a frame of a call chain, in perf's columns.
[[nodiscard]] bool is_perf_frame_line(std::string_view line);

struct PerfFrame {
    std::string_view address;  ///< As printed; empty: not printed.
    std::string_view symbol;   ///< Without its offset; empty: not printed.
    std::string_view dso;      ///< Empty: not printed, or not known.
    std::string_view file;     ///< Empty: not printed, or not known.
    std::uint32_t line = 0;
    bool is_inlined = false;
};

/// None if `text` is empty but for spaces.
[[nodiscard]] std::optional<PerfFrame> perf_frame(std::string_view text);

/// Adds a line like "  file.c:12" to the frame above it; false if it is none. "  lib.so[1f]" and
/// "  +31", which perf prints where it knows no source, add nothing.
[[nodiscard]] bool add_source_line(std::string_view text, PerfFrame& frame);

}  // namespace sample::imports
