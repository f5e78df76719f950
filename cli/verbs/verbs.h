// The verbs: each takes its options, does its work and returns the process's exit code, or what
// has failed and what to do about it: told on standard error, the exit code is 1 then. Usage errors
// (2) were found before. record passes the command's own code on.
#pragma once

#include "cli/options/options.h"
#include "core/result.h"

#include <string>

namespace sample::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitGate = 3;  ///< diff: worse than --fail-above allows.

[[nodiscard]] Result<int> run(const RecordOptions& options);
[[nodiscard]] Result<int> run(const AttachOptions& asked);
[[nodiscard]] Result<int> run(const TopOptions& options);
[[nodiscard]] Result<int> run(const ReportOptions& options);
[[nodiscard]] Result<int> run(const AnnotateOptions& options);
[[nodiscard]] Result<int> run(const DiffVerbOptions& options);
[[nodiscard]] Result<int> run(const ExportOptions& options);
[[nodiscard]] Result<int> run(const ImportOptions& options);
[[nodiscard]] Result<int> run(const TraceOptions& options);
[[nodiscard]] Result<int> run(const ControlOptions& options);
[[nodiscard]] Result<int> run(const SessionsOptions& options);
[[nodiscard]] Result<int> run(const DoctorOptions& options);

/// The hidden verb that the agent starts: records the process at the other end of the socket `fd`
/// until it ends; or, of `sample attach --inject`, the process `injected`, and tells `fd` its
/// session. Returns the exit code.
[[nodiscard]] int run_collect(int fd, pid_t injected = 0);

/// Whether weights that count `counted` (empty: nanoseconds) can be shown in `unit`; if not, says
/// what can be done.
[[nodiscard]] bool has_unit(Unit unit, const std::string& file, const std::string& counted);

}  // namespace sample::cli
