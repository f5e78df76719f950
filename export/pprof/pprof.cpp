#include "callgraph/label.h"
#include "export/formats.h"
#include "export/pprof/samples.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"

#include <protozero/pbf_builder.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::CodeModule;
using callgraph::Function;
using callgraph::Profile;
using pprof::FunctionField;
using pprof::MappingField;
using pprof::ProfileField;
using pprof::Stream;
using pprof::ValueTypeField;

constexpr std::uint64_t kNsPerMs = 1'000'000;

/// What is sampled, as a type and its unit.
struct Kind {
    std::string type;
    std::string unit;
};

Kind weight_kind(const Profile& profile) {
    if (!profile.is_time()) {
        return {profile.event.empty() ? profile.unit : profile.event, profile.unit};
    }
    return {profile.stats.clock.empty() ? "time" : profile.stats.clock, "nanoseconds"};
}

void write_kind(Stream& out, ProfileField field, const Kind& kind) {
    std::string bytes;
    protozero::pbf_builder<ValueTypeField> message{bytes};
    message.add_int64(ValueTypeField::type, static_cast<std::int64_t>(out.add_string(kind.type)));
    message.add_int64(ValueTypeField::unit, static_cast<std::int64_t>(out.add_string(kind.unit)));
    out.message(field, bytes);
}

/// Everything that is not in a table of its own.
void write_head(const Profile& profile, Stream& out) {
    const Kind weight = weight_kind(profile);
    write_kind(out, ProfileField::sample_type, {"samples", "count"});
    write_kind(out, ProfileField::sample_type, weight);
    out.number(ProfileField::default_sample_type, out.add_string(weight.type));
    const callgraph::Stats& stats = profile.stats;
    const std::uint64_t sampling_ns = sampling_period_ns(profile);
    if (const std::uint64_t period = sampling_ns != 0 ? sampling_ns : stats.period; period != 0) {
        write_kind(out, ProfileField::period_type, weight);
        out.number(ProfileField::period, period);
    }
    out.number(ProfileField::time_nanos, profile.start_unix_ms * kNsPerMs);
    const bool has_length = profile.end_unix_ms > profile.start_unix_ms;
    const std::uint64_t length_ns = stats.wall_ns == 0 && has_length
                                        ? (profile.end_unix_ms - profile.start_unix_ms) * kNsPerMs
                                        : stats.wall_ns;
    out.number(ProfileField::duration_nanos, length_ns);
    const auto comment = [&out](const std::string& line) {
        out.number(ProfileField::comment, out.add_string(line));
    };
    comment("creator: " + creator());
    if (!profile.command_line.empty()) {
        comment("command: " + profile.command_line);
    }
    for (const std::string& line : fact_lines(profile)) {
        comment(line);
    }
}

void write_functions(const Profile& profile, Stream& out) {
    std::string bytes;
    std::uint64_t id = 0;
    for (const Function& function : profile.functions) {
        bytes.clear();
        protozero::pbf_builder<FunctionField> message{bytes};
        const std::string name = callgraph::label(function);
        const std::uint64_t name_index = out.add_string(name);
        message.add_uint64(FunctionField::id, ++id);
        message.add_uint64(FunctionField::name, name_index);
        message.add_uint64(FunctionField::system_name, function.linkage_name == name
                                                           ? name_index
                                                           : out.add_string(function.linkage_name));
        message.add_uint64(FunctionField::filename,
                           out.intern_string(source_file(profile, function)));
        message.add_int64(FunctionField::start_line, function.line);
        out.message(ProfileField::function, bytes);
    }
}

/// Each module that has functions in the profile. Flags say that names are complete, so that no
/// reader looks them up in files of its own machine.
void write_mappings(const Profile& profile, Stream& out) {
    std::vector<bool> is_used(profile.modules.size());
    std::vector<bool> has_sources(profile.modules.size());
    for (const Function& function : profile.functions) {
        is_used[function.module] = true;
        has_sources[function.module] =
            has_sources[function.module] || !source_file(profile, function).empty();
    }
    const auto write = [&](std::uint32_t index) {
        const CodeModule& module = profile.modules[index];
        std::string bytes;
        protozero::pbf_builder<MappingField> message{bytes};
        message.add_uint64(MappingField::id, index);
        message.add_uint64(MappingField::filename, out.add_string(module_file(module)));
        message.add_uint64(MappingField::build_id, out.add_string(module.build_id));
        message.add_bool(MappingField::has_functions, true);
        message.add_bool(MappingField::has_filenames, has_sources[index]);
        message.add_bool(MappingField::has_line_numbers, has_sources[index] && profile.by_line);
        message.add_bool(MappingField::has_inline_frames, has_sources[index]);
        out.message(ProfileField::mapping, bytes);
    };
    // Readers take the first mapping for the program's own file.
    std::vector<std::uint32_t> order(profile.modules.size() - 1);
    std::iota(order.begin(), order.end(), 1);
    const auto is_program = [&](std::uint32_t index) {
        return !profile.processes.empty() &&
               profile.modules[index].path == profile.processes.front().executable;
    };
    if (const auto program = std::find_if(order.begin(), order.end(), is_program);
        program != order.end()) {
        write(*program);
        order.erase(program);
    }
    for (const std::uint32_t index : order) {
        if (is_used[index]) {
            write(index);
        }
    }
}

}  // namespace

Result<void> write_pprof(const Profile& profile, const Sink& sink) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (auto fits = check_total(profile, kMost, "pprof"); !fits) {
        return fits;
    }
    Stream out{sink};
    write_head(profile, out);
    write_mappings(profile, out);
    write_functions(profile, out);
    pprof::write_samples(profile, out);
    return out.finish();
}

}  // namespace sample::exports
