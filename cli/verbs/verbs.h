// The verbs: each takes its options, does its work and returns the process's exit code.
//
// report, annotate, diff, export, import and doctor: 0 done, 1 it failed and a message on standard
// error says what to do; usage errors (2) were found before. record passes the command's own code
// on.
#pragma once

#include "cli/options/annotate.h"
#include "cli/options/diff.h"
#include "cli/options/doctor.h"
#include "cli/options/export.h"
#include "cli/options/import.h"
#include "cli/options/record.h"
#include "cli/options/report.h"

#include <string>

namespace sample::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitGate = 3;  ///< diff: worse than --fail-above allows.

[[nodiscard]] int run_record(const RecordOptions& options);
[[nodiscard]] int run_report(const ReportOptions& options);
[[nodiscard]] int run_annotate(const AnnotateOptions& options);
[[nodiscard]] int run_diff(const DiffVerbOptions& options);
[[nodiscard]] int run_export(const ExportOptions& options);
[[nodiscard]] int run_import(const ImportOptions& options);
[[nodiscard]] int run_doctor(const DoctorOptions& options);

}  // namespace sample::cli
