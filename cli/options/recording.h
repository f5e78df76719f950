// What the verbs that record have in common: record, attach, top.
#pragma once

#include "cli/options/options.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sample::cli {

inline constexpr std::string_view kNotKnown = "{} '{}' is not known";

/// `is_given` is set where a frequency was named, other than "off".
[[nodiscard]] Read frequency(RecordOptions& options, const std::shared_ptr<bool>& is_given);
[[nodiscard]] Read duration(std::optional<std::chrono::nanoseconds>& target);

void declare_output(OptionParser& parser, RecordOptions& options);
/// --rotate, --keep and --max-size.
void declare_parts(OptionParser& parser, RecordOptions& options);
void declare_depth(OptionParser& parser, RecordOptions& options);
/// `of_whom`: what the help begins with.
void declare_kernel(OptionParser& parser, RecordOptions& options, const std::string& of_whom);
void declare_off_cpu(OptionParser& parser, RecordOptions& options, const std::string& of_whom);
/// --symbols, --code, and where names are from.
void declare_names(OptionParser& parser, RecordOptions& options);
void declare_live(OptionParser& parser, RecordOptions& options);

}  // namespace sample::cli
