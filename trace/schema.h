// The events that a recording consists of: our own, under the logger "Sample", and the standard
// ones that other people's readers look for. docs/format-utrace.md describes each.
#pragma once

#include "trace/event_spec.h"

#include <array>
#include <cstdint>

namespace sample::trace::schema {

/// What Sample.Session's Version may say. A reader refuses a greater one. 2: kGuessedFrame.
/// 3: weights are not time; only such a recording says so.
inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::uint16_t kVersionOfTime = 2;

/// Long texts are cut to these sizes, in bytes of UTF-8: an event has less than 64 KiB.
inline constexpr std::size_t kMaxCommandLineBytes = std::size_t{16} * 1024;
inline constexpr std::size_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = 1024;
inline constexpr std::size_t kMaxBuildIdBytes = 256;

inline constexpr std::uint8_t kFixed = wire::kImportant | wire::kNoSync;
inline constexpr std::uint8_t kVariable = kFixed | wire::kMaybeHasAux;
inline constexpr std::uint8_t kThreadStream = wire::kNoSync | wire::kMaybeHasAux;

// The standard ones.

inline constexpr auto kNewTraceFields = std::to_array<FieldSpec>({
    {"StartCycle", FieldType::u64},
    {"CycleFrequency", FieldType::u64},
    {"Endian", FieldType::u16},
    {"PointerSize", FieldType::u8},
});
inline constexpr EventSpec kNewTrace{16, kFixed, "$Trace", "NewTrace", kNewTraceFields};

inline constexpr auto kThreadInfoFields = std::to_array<FieldSpec>({
    {"ThreadId", FieldType::u32},
    {"SystemId", FieldType::u32},
    {"SortHint", FieldType::i32},
    {"Name", FieldType::text},
});
inline constexpr EventSpec kThreadInfo{17, kVariable, "$Trace", "ThreadInfo", kThreadInfoFields};

inline constexpr auto kSession2Fields = std::to_array<FieldSpec>({
    {"Changelist", FieldType::u32},
    {"ConfigurationType", FieldType::u8},
    {"TargetType", FieldType::u8},
    {"Platform", FieldType::text},
    {"AppName", FieldType::text},
    {"ProjectName", FieldType::wide_text},
    {"CommandLine", FieldType::wide_text},
    {"Branch", FieldType::wide_text},
    {"BuildVersion", FieldType::wide_text},
    {"InstanceId", FieldType::u32_array},
});
inline constexpr EventSpec kSession2{18, kVariable, "Diagnostics", "Session2", kSession2Fields};

inline constexpr auto kModuleInitFields = std::to_array<FieldSpec>({
    {"ModuleBaseShift", FieldType::u8},
    {"SymbolFormat", FieldType::text},
});
inline constexpr EventSpec kModuleInit{19, kVariable, "Diagnostics", "ModuleInit",
                                       kModuleInitFields};

inline constexpr auto kDiagnosticsModuleLoadFields = std::to_array<FieldSpec>({
    {"Base", FieldType::u64},
    {"Size", FieldType::u32},
    {"Name", FieldType::wide_text},
    {"ImageId", FieldType::bytes},
});
inline constexpr EventSpec kDiagnosticsModuleLoad{20, kVariable, "Diagnostics", "ModuleLoad",
                                                  kDiagnosticsModuleLoadFields};

// Ours.

inline constexpr auto kSessionFields = std::to_array<FieldSpec>({
    {"Version", FieldType::u16},
    {"StartTime", FieldType::u64},
    {"StartUnixTime", FieldType::u64},
    {"Period", FieldType::u64},
    {"RequestedHz", FieldType::u32},
    {"Clock", FieldType::u8},
    {"Source", FieldType::text},
    {"SourceReason", FieldType::text},
    {"CommandLine", FieldType::text},
    {"ToolVersion", FieldType::text},
    {"Event", FieldType::text},
    {"Unit", FieldType::text},
});
inline constexpr EventSpec kSession{32, kVariable, "Sample", "Session", kSessionFields};

inline constexpr auto kSessionEndFields = std::to_array<FieldSpec>({
    {"EndTime", FieldType::u64},
    {"StoppedEarly", FieldType::u8},
    {"Note", FieldType::text},
});
inline constexpr EventSpec kSessionEnd{33, kVariable, "Sample", "SessionEnd", kSessionEndFields};

inline constexpr auto kProcessFields = std::to_array<FieldSpec>({
    {"ProcessId", FieldType::u32},
    {"Pid", FieldType::u32},
    {"ParentPid", FieldType::u32},
    {"StartTime", FieldType::u64},
    {"Executable", FieldType::text},
    {"CommandLine", FieldType::text},
    {"Source", FieldType::text},
    {"SourceReason", FieldType::text},
});
inline constexpr EventSpec kProcess{34, kVariable, "Sample", "Process", kProcessFields};

inline constexpr auto kProcessEndFields = std::to_array<FieldSpec>({
    {"ProcessId", FieldType::u32},
    {"Kind", FieldType::u8},
    {"Code", FieldType::i32},
    {"EndTime", FieldType::u64},
    {"CpuTime", FieldType::u64},
    {"Lost", FieldType::u64},
    {"HandlerCount", FieldType::u64},
    {"HandlerSum", FieldType::u64},
    {"HandlerP99", FieldType::u64},
    {"AgentRss", FieldType::u64},
    {"UnwindTables", FieldType::u64},
});
inline constexpr EventSpec kProcessEnd{35, kFixed, "Sample", "ProcessEnd", kProcessEndFields};

inline constexpr auto kThreadFields = std::to_array<FieldSpec>({
    {"ThreadId", FieldType::u32},
    {"ProcessId", FieldType::u32},
    {"Tid", FieldType::u32},
    {"StartTime", FieldType::u64},
    {"Name", FieldType::text},
});
inline constexpr EventSpec kThread{36, kVariable, "Sample", "Thread", kThreadFields};

inline constexpr auto kThreadNameFields = std::to_array<FieldSpec>({
    {"ThreadId", FieldType::u32},
    {"Name", FieldType::text},
});
inline constexpr EventSpec kThreadName{37, kVariable, "Sample", "ThreadName", kThreadNameFields};

inline constexpr auto kModuleFields = std::to_array<FieldSpec>({
    {"ModuleId", FieldType::u32},
    {"Kind", FieldType::u8},
    {"IsPlugin", FieldType::u8},
    {"Path", FieldType::text},
    {"BuildId", FieldType::bytes},
});
inline constexpr EventSpec kModule{38, kVariable, "Sample", "Module", kModuleFields};

inline constexpr auto kModuleLoadFields = std::to_array<FieldSpec>({
    {"ModuleId", FieldType::u32},
    {"ProcessId", FieldType::u32},
    {"Base", FieldType::u64},
    {"Start", FieldType::u64},
    {"Size", FieldType::u64},
    {"Time", FieldType::u64},
});
inline constexpr EventSpec kModuleLoad{39, kFixed, "Sample", "ModuleLoad", kModuleLoadFields};

inline constexpr auto kStackNodesFields = std::to_array<FieldSpec>({
    {"First", FieldType::u32},
    {"Data", FieldType::bytes},
});
inline constexpr EventSpec kStackNodes{40, kThreadStream, "Sample", "StackNodes",
                                       kStackNodesFields};

inline constexpr auto kSampleBatchFields = std::to_array<FieldSpec>({
    {"ThreadId", FieldType::u32},
    {"StartTime", FieldType::u64},
    {"Period", FieldType::u64},
    {"Data", FieldType::bytes},
});
inline constexpr EventSpec kSampleBatch{41, kThreadStream, "Sample", "SampleBatch",
                                        kSampleBatchFields};

inline constexpr auto kUnprofiledFields = std::to_array<FieldSpec>({
    {"Pid", FieldType::u32},
    {"ParentPid", FieldType::u32},
    {"StartTime", FieldType::u64},
    {"Executable", FieldType::text},
    {"Reason", FieldType::text},
});
inline constexpr EventSpec kUnprofiled{42, kVariable, "Sample", "Unprofiled", kUnprofiledFields};

/// What is behind the end of the session: a piece of a block of bytes (trace/attachments.h).
inline constexpr auto kAttachmentFields = std::to_array<FieldSpec>({
    {"ModuleId", FieldType::u32},
    {"Left", FieldType::u32},
    {"Size", FieldType::u32},
    {"Offset", FieldType::u32},
    {"Data", FieldType::bytes},
});
inline constexpr EventSpec kSymbols{43, kThreadStream, "Sample", "Symbols", kAttachmentFields};
inline constexpr EventSpec kCode{44, kThreadStream, "Sample", "Code", kAttachmentFields};
inline constexpr EventSpec kSourceText{45, kThreadStream, "Sample", "SourceText",
                                       kAttachmentFields};

inline constexpr std::array kStandardEvents{kNewTrace, kThreadInfo, kSession2, kModuleInit,
                                            kDiagnosticsModuleLoad};
/// All that a recording declares at its begin; together they fit into one packet.
inline constexpr std::array kEvents{
    kNewTrace,   kThreadInfo, kSession2,   kModuleInit, kDiagnosticsModuleLoad,
    kSession,    kSessionEnd, kProcess,    kProcessEnd, kThread,
    kThreadName, kModule,     kModuleLoad, kStackNodes, kSampleBatch,
    kUnprofiled};

}  // namespace sample::trace::schema
