#include "import/import.h"

#include "import/gunzip.h"
#include "import/json_kind.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace sample::imports {

namespace {

constexpr std::array<std::pair<Format, std::string_view>, 9> kFormatNames{{
    {Format::json, "json"},
    {Format::speedscope, "speedscope"},
    {Format::pprof, "pprof"},
    {Format::perf_script, "perf-script"},
    {Format::folded, "folded"},
    {Format::folded_threads, "folded-threads"},
    {Format::luau, "luau"},
    {Format::cpuprofile, "cpuprofile"},
    {Format::callgrind, "callgrind"},
}};

/// Text has no control characters but tabs and line ends; every pprof has a zero.
bool is_text(std::string_view bytes) {
    constexpr std::size_t kLooked = 4096;
    return std::none_of(
        bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kLooked)),
        [](char c) {
            return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
        });
}

bool is_utf16(std::string_view bytes) {
    return bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
}

/// Whether `bytes` begin like a CPU profile of gperftools, an older format of 64-bit words: no
/// words before the header, three in it behind this one, version 0. Source:
/// cpuprofile-fileformat.html of gperftools.
bool is_gperftools(std::string_view bytes) {
    constexpr std::array<std::uint64_t, 3> kHeader{0, 3, 0};
    return bytes.size() >= sizeof kHeader &&
           std::memcmp(bytes.data(), kHeader.data(), sizeof kHeader) == 0;
}

Unexpected not_read(std::string_view what, std::string_view advice) {
    return unexpected(ErrorCode::unsupported,
                      std::string{what}.append(", which is not read: ").append(advice));
}

/// A field that only one kind of document has; no format: a kind that is not read.
struct TellingField {
    RootField field;
    std::optional<Format> format;
    std::string_view kind = {};
    std::string_view advice = {};
};

constexpr std::string_view kFirefox = "a profile for the Firefox Profiler";
constexpr std::string_view kFirefoxAdvice =
    "save it in another format, or import what it was made from";
constexpr std::string_view kChrome = "a trace for Chrome";
constexpr std::string_view kChromeAdvice = "speedscope opens it and exports its own format";

constexpr std::array kTellingFields{
    TellingField{{"Version", ""}, Format::json},
    TellingField{{"profiles", ""}, Format::speedscope},
    TellingField{{"$schema", "speedscope"}, Format::speedscope},
    TellingField{{"nodes", ""}, Format::cpuprofile},
    TellingField{{"timeDeltas", ""}, Format::cpuprofile},
    TellingField{{"profile", ""}, Format::cpuprofile},
    TellingField{{"meta", ""}, {}, kFirefox, kFirefoxAdvice},
    TellingField{{"threads", ""}, {}, kFirefox, kFirefoxAdvice},
    TellingField{{"libs", ""}, {}, kFirefox, kFirefoxAdvice},
    TellingField{{"traceEvents", ""}, {}, kChrome, kChromeAdvice},
    TellingField{{kArrayRoot, ""}, {}, kChrome, kChromeAdvice},
};

Result<Format> detect_json(std::string_view text) {
    std::array<RootField, kTellingFields.size()> fields;
    std::transform(kTellingFields.begin(), kTellingFields.end(), fields.begin(),
                   [](const TellingField& each) { return each.field; });
    SAMPLE_TRY(found, find_root_field(text, fields));
    if (!found) {
        return unexpected(ErrorCode::corrupt,
                          "JSON, but neither of the script profiler (it has a field Version) nor "
                          "of speedscope (it has profiles) nor a .cpuprofile (it has nodes)");
    }
    const TellingField& what = kTellingFields[*found];
    return what.format ? Result<Format>{*what.format} : not_read(what.kind, what.advice);
}

/// A count, or what its place is taken by: a fraction, a negative number, one that is too large.
bool is_like_a_count(std::string_view word) {
    word.remove_prefix(word.starts_with('-') ? 1 : 0);
    return !word.empty() && is_digit(word.front()) &&
           word.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Which of the formats of lines fits every one of the first lines.
Result<Format> detect_lines(std::string_view text) {
    constexpr std::size_t kLooked = 100;
    Lines lines{text};
    std::string_view line;
    bool is_luau = true;
    bool is_folded = true;
    bool has_callers = false;
    std::size_t seen = 0;
    while (seen < kLooked && lines.next(line)) {
        line = trimmed(line);
        if (line.empty()) {
            continue;
        }
        ++seen;
        const std::size_t space = line.find_last_of(" \t");
        is_luau = is_luau && is_luau_line(line);
        is_folded = is_folded && is_like_a_count(line.substr(space + 1));
        has_callers = has_callers || line.find(';') != std::string_view::npos;
    }
    if (seen != 0 && is_luau) {
        return Format::luau;
    }
    if (seen != 0 && is_folded && has_callers) {
        return Format::folded;
    }
    if (seen != 0 && is_folded) {
        return unexpected(ErrorCode::unsupported,
                          "lines that end with numbers, but without a ';': if they are folded "
                          "stacks of single frames, say --from folded");
    }
    return unexpected(ErrorCode::corrupt,
                      "text, but neither JSON nor what perf script prints nor folded stacks nor "
                      "those of Luau nor of callgrind: if it is one of them, --from FORMAT says "
                      "what is wrong with "
                      "it; formats: " +
                          format_names());
}

bool is_version_1(std::string_view text) {
    constexpr std::array<RootField, 2> kVersions{{{"Version", "1"}, {"Version", ""}}};
    const auto found = find_root_field(text, kVersions);
    return found && *found == std::size_t{0};
}

Result<callgraph::Profile> read_as(Format format, std::string_view bytes, const Options& options) {
    switch (format) {
        case Format::json:
            return is_version_1(bytes) ? read_script_profiler_tree(bytes, options)
                                       : read_script_profiler_json(bytes);
        case Format::speedscope:
            return read_speedscope(bytes, options);
        case Format::pprof:
            return read_pprof(bytes, options);
        case Format::perf_script:
            return read_perf_script(bytes, options);
        case Format::folded:
            return read_folded(bytes, FirstFrame::function, options);
        case Format::folded_threads:
            return read_folded(bytes, FirstFrame::thread, options);
        case Format::luau:
            return read_luau(bytes, options);
        case Format::cpuprofile:
            return read_cpu_profile(bytes, options);
        case Format::callgrind:
            return read_callgrind(bytes, options);
    }
    return unexpected(ErrorCode::invalid_argument, "no such format");
}

}  // namespace

std::string_view name_of(Format format) {
    return kFormatNames[static_cast<std::size_t>(format)].second;
}

bool tells_memory(Format format) {
    return format == Format::json || format == Format::luau || format == Format::cpuprofile;
}

std::string format_names() {
    std::string list;
    for (const auto& [format, name] : kFormatNames) {
        list.append(list.empty() ? "" : ", ").append(name);
    }
    return list;
}

Result<Format> find_format(std::string_view name) {
    for (const auto& [format, its_name] : kFormatNames) {
        if (its_name == name) {
            return format;
        }
    }
    return unexpected(ErrorCode::invalid_argument, std::string{"--from cannot be '"}
                                                       .append(name)
                                                       .append("': choose one of ")
                                                       .append(format_names()));
}

Result<Format> detect_format(std::string_view bytes) {
    const std::string_view text = without_byte_order_mark(bytes);
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        return unexpected(ErrorCode::corrupt, "empty: there is nothing to import");
    }
    if (is_utf16(text)) {
        return not_read("a text in UTF-16", "convert it to UTF-8");
    }
    if (is_gzip(text)) {
        return not_read("gzip inside of gzip", "unpack it with gunzip");
    }
    if (text.starts_with("PERFILE2")) {
        return not_read("a recording of perf", "import what perf script -F +srcline prints of it");
    }
    if (is_gperftools(bytes)) {
        return not_read("a CPU profile of gperftools", "convert it with pprof -proto");
    }
    if (!is_text(text)) {
        if (is_pprof(text)) {
            return Format::pprof;
        }
        return unexpected(
            ErrorCode::corrupt,
            "neither text nor a profile of pprof: formats that are read are " + format_names());
    }
    if (is_like_json(text)) {
        return detect_json(text);
    }
    if (is_callgrind(text)) {
        return Format::callgrind;
    }
    return is_perf_script(text) ? Result<Format>{Format::perf_script} : detect_lines(text);
}

Result<Imported> import_profile(std::string_view bytes, std::optional<Format> format,
                                const Options& options) {
    std::string unpacked;
    if (is_gzip(bytes)) {
        Result<std::string> result = gunzip(bytes, options.max_unpacked_bytes);
        if (!result) {
            return unexpected(result.error());
        }
        unpacked = std::move(*result);
        bytes = unpacked;
    }
    if (!format) {
        const Result<Format> detected = detect_format(bytes);
        if (!detected) {
            return unexpected(detected.error());
        }
        format = *detected;
    }
    Options wanted = options;
    // Others say only where a function begins, not where in it a sample was.
    wanted.lines = options.lines && (*format == Format::pprof || *format == Format::perf_script);
    Result<callgraph::Profile> profile = read_as(*format, bytes, wanted);
    if (!profile) {
        Error error = profile.error();
        error.context = std::string{name_of(*format)} + ": " + error.context;
        return unexpected(std::move(error));
    }
    return Imported{std::move(*profile), *format};
}

}  // namespace sample::imports
