#include "callgraph/label.h"
#include "core/units.h"
#include "export/formats.h"
#include "export/pprof/places.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"

#include <protozero/pbf_builder.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
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
using pprof::Places;
using pprof::ProfileField;
using pprof::Stream;
using pprof::ValueTypeField;

/// What is sampled, as a type and its unit.
struct Kind {
    std::string type;
    std::string unit;
};

Kind weight_kind(const MetricView& view) {
    const auto& [name, unit, meaning] = view.metric();
    const Profile& profile = view.profile();
    if (!name.empty()) {
        return {name, view.is_time() ? "nanoseconds" : unit};
    }
    if (!view.is_time()) {
        return {profile.event.empty() ? unit : profile.event, unit};
    }
    return {profile.stats.clock.empty() ? "time" : profile.stats.clock, "nanoseconds"};
}

void write_kind(Stream& out, ProfileField field, const Kind& kind) {
    std::string bytes;
    protozero::pbf_builder<ValueTypeField> message{bytes};
    message.add_int64(ValueTypeField::type, static_cast<std::int64_t>(out.string(kind.type)));
    message.add_int64(ValueTypeField::unit, static_cast<std::int64_t>(out.string(kind.unit)));
    out.message(field, bytes);
}

/// Everything that is not in a table of its own.
void write_head(const Profile& profile, Stream& out) {
    const Kind weight = weight_kind(profile);
    write_kind(out, ProfileField::sample_type, {"samples", "count"});
    write_kind(out, ProfileField::sample_type, weight);
    for (const callgraph::FurtherMetric& each : profile.further) {
        write_kind(out, ProfileField::sample_type, weight_kind({profile, each}));
    }
    out.number(ProfileField::default_sample_type, out.string(weight.type));
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
    out.number(ProfileField::duration_nanos, profile.chosen_ns.value_or(length_ns));
    const auto comment = [&out](const std::string& line) {
        out.number(ProfileField::comment, out.string(line));
    };
    comment("creator: " + creator());
    if (!profile.command_line.empty()) {
        comment("command: " + profile.command_line);
    }
    for (const std::string& line : fact_lines(profile)) {
        comment(line);
    }
}

void write_functions(const Profile& profile, const Places& places, Stream& out) {
    std::string bytes;
    for (std::size_t i = 0; i < profile.functions.size(); ++i) {
        const Function& function = profile.functions[i];
        if (places.functions()[i] == 0) {
            continue;
        }
        bytes.clear();
        protozero::pbf_builder<FunctionField> message{bytes};
        message.add_uint64(FunctionField::id, places.functions()[i]);
        message.add_uint64(FunctionField::name, out.string(callgraph::label(function)));
        message.add_uint64(FunctionField::system_name, out.string(function.linkage_name));
        message.add_uint64(FunctionField::filename, out.string(source_file(profile, function)));
        message.add_int64(FunctionField::start_line, function.line);
        out.message(ProfileField::function, bytes);
    }
}

/// Flags say that names are complete, so that no reader looks them up in files of its own machine.
void write_mappings(const Profile& profile, const Places& places, Stream& out) {
    std::vector<bool> has_sources(profile.modules.size());
    for (const Function& function : profile.functions) {
        has_sources[function.module] =
            has_sources[function.module] || !source_file(profile, function).empty();
    }
    std::vector<std::uint32_t> order;  // by id
    for (std::uint32_t index = 0; index < profile.modules.size(); ++index) {
        if (places.mappings()[index] != 0) {
            order.push_back(index);
        }
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
        return places.mappings()[left] < places.mappings()[right];
    });
    for (const std::uint32_t index : order) {
        const CodeModule& module = profile.modules[index];
        std::string bytes;
        protozero::pbf_builder<MappingField> message{bytes};
        message.add_uint64(MappingField::id, places.mappings()[index]);
        message.add_uint64(MappingField::filename, out.string(module_file(module)));
        message.add_uint64(MappingField::build_id, out.string(module.build_id));
        message.add_bool(MappingField::has_functions, true);
        message.add_bool(MappingField::has_filenames, has_sources[index]);
        message.add_bool(MappingField::has_line_numbers, has_sources[index] && profile.by_line);
        message.add_bool(MappingField::has_inline_frames, has_sources[index]);
        out.message(ProfileField::mapping, bytes);
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
    const Places places{profile};
    write_mappings(profile, places, out);
    write_functions(profile, places, out);
    places.write(out);
    pprof::write_samples(profile, places, out);
    return out.finish();
}

}  // namespace sample::exports
