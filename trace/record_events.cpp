#include "trace/record_events.h"

#include "trace/hash.h"
#include "trace/schema.h"
#include "trace/text.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

namespace sample::trace {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint16_t kEndianMark = 0x524d;

std::string_view first_word_name(std::string_view command_line) {
    const std::string_view word = command_line.substr(0, command_line.find(' '));
    return word.substr(word.rfind('/') + 1);
}

/// What the container knows of a thread: readers number them from 2 up, with 14 bits.
std::uint32_t foreign_thread_id(ThreadId id) {
    return std::uint32_t{EventWriter::kDataStream} + id.value;
}

}  // namespace

Guid make_guid(const SessionStart& session, std::uint64_t salt) {
    Guid guid{};
    std::uint64_t text = salt;
    for (const char letter : session.command_line) {
        text = hash_words(text, static_cast<unsigned char>(letter));
    }
    for (std::size_t i = 0; i < guid.size(); i += 4) {
        const std::uint32_t word =
            hash_words(session.start_unix_ns + i * kNsPerSecond, session.start_ns ^ (text + i));
        std::memcpy(guid.data() + i, &word, sizeof word);
    }
    return guid;
}

EventEncoder RecordEvents::begin(const EventSpec& spec) {
    scratch_.clear();
    return EventEncoder{spec, scratch_};
}

void RecordEvents::standard_session(const SessionStart& session, std::string_view command_line) {
    begin(schema::kNewTrace)
        .number(session.start_ns)
        .number(kNsPerSecond)
        .number(kEndianMark)
        .number(sizeof(void*))
        .finish();
    add(schema::kNewTrace);

    const Guid instance = make_guid(session, 0);
    begin(schema::kSession2)
        .number(0)
        .number(0)
        .number(0)
        .text("Linux")
        .text("sample")
        .wide_text(bounded_text(first_word_name(command_line), schema::kMaxTextBytes))
        .wide_text(command_line)
        .wide_text("")
        .wide_text(bounded_text(session.tool_version, schema::kMaxTextBytes))
        .bytes(std::as_bytes(std::span{instance}))
        .finish();
    add(schema::kSession2);
}

void RecordEvents::session(const SessionStart& session) {
    events_.declare(schema::kEvents);
    const std::string command_line =
        bounded_text(session.command_line, schema::kMaxCommandLineBytes);
    standard_session(session, command_line);
    begin(schema::kSession)
        .number(session.unit.empty() ? schema::kVersionOfTime : schema::kVersion)
        .number(session.start_ns)
        .number(session.start_unix_ns)
        .number(session.period_ns)
        .number(session.requested_hz)
        .number(static_cast<std::uint8_t>(session.clock))
        .text(bounded_text(session.source, schema::kMaxTextBytes))
        .text(bounded_text(session.source_reason, schema::kMaxTextBytes))
        .text(command_line)
        .text(bounded_text(session.tool_version, schema::kMaxTextBytes))
        .text(bounded_text(session.event, schema::kMaxTextBytes))
        .text(bounded_text(session.unit, schema::kMaxTextBytes))
        .finish();
    add(schema::kSession);

    standard_thread_info(EventWriter::kDataStream, 0, "[sample recording]");
    begin(schema::kModuleInit).number(0).text("dwarf").finish();
    add(schema::kModuleInit);
}

void RecordEvents::session_end(const SessionEnd& end) {
    begin(schema::kSessionEnd)
        .number(end.end_ns)
        .number(end.stopped_early ? 1 : 0)
        .text(bounded_text(end.note, schema::kMaxPathBytes))
        .finish();
    add(schema::kSessionEnd);
}

void RecordEvents::process(const Process& process) {
    begin(schema::kProcess)
        .number(process.id.value)
        .number(process.pid)
        .number(process.parent_pid)
        .number(process.start_ns)
        .text(bounded_text(process.executable, schema::kMaxPathBytes))
        .text(bounded_text(process.command_line, schema::kMaxCommandLineBytes))
        .text(bounded_text(process.source, schema::kMaxTextBytes))
        .text(bounded_text(process.source_reason, schema::kMaxTextBytes))
        .finish();
    add(schema::kProcess);
}

void RecordEvents::process_end(const ProcessEnd& end) {
    begin(schema::kProcessEnd)
        .number(end.id.value)
        .number(static_cast<std::uint8_t>(end.kind))
        .number(static_cast<std::uint32_t>(end.code))
        .number(end.end_ns)
        .number(end.cpu_ns)
        .number(end.lost)
        .number(end.handler_count)
        .number(end.handler_sum_ns)
        .number(end.handler_p99_ns)
        .number(end.agent_rss_bytes)
        .number(end.unwind_table_bytes)
        .finish();
    add(schema::kProcessEnd);
}

void RecordEvents::unprofiled(const UnprofiledProgram& program) {
    begin(schema::kUnprofiled)
        .number(program.pid)
        .number(program.parent_pid)
        .number(program.start_ns)
        .text(bounded_text(program.executable, schema::kMaxPathBytes))
        .text(bounded_text(program.reason, schema::kMaxTextBytes))
        .finish();
    add(schema::kUnprofiled);
}

void RecordEvents::standard_thread_info(std::uint32_t id, std::uint32_t tid,
                                        std::string_view name) {
    if (id > wire::kLastThreadStream) {
        return;
    }
    begin(schema::kThreadInfo)
        .number(id)
        .number(tid)
        .number(0)
        .text(bounded_text(name, schema::kMaxTextBytes))
        .finish();
    add(schema::kThreadInfo);
}

void RecordEvents::thread(const Thread& thread) {
    begin(schema::kThread)
        .number(thread.id.value)
        .number(thread.process.value)
        .number(thread.tid)
        .number(thread.start_ns)
        .text(bounded_text(thread.name, schema::kMaxTextBytes))
        .finish();
    add(schema::kThread);
    standard_thread_info(foreign_thread_id(thread.id), thread.tid, thread.name);
}

void RecordEvents::thread_name(const ThreadName& name, std::uint32_t tid) {
    begin(schema::kThreadName)
        .number(name.id.value)
        .text(bounded_text(name.name, schema::kMaxTextBytes))
        .finish();
    add(schema::kThreadName);
    standard_thread_info(foreign_thread_id(name.id), tid, name.name);
}

void RecordEvents::module(const Module& module) {
    ModuleFile file{bounded_text(module.path, schema::kMaxPathBytes), module.build_id};
    file.build_id.resize(std::min(file.build_id.size(), schema::kMaxBuildIdBytes));
    begin(schema::kModule)
        .number(module.id.value)
        .number(static_cast<std::uint8_t>(module.kind))
        .number(module.plugin ? 1 : 0)
        .text(file.path)
        .bytes(std::as_bytes(std::span{file.build_id}))
        .finish();
    add(schema::kModule);
    modules_.push_back(std::move(file));
}

void RecordEvents::standard_module_load(const ModuleLoad& load) {
    const ModuleFile& file = modules_[load.module.value - 1];
    constexpr std::uint64_t kMaxSize = std::numeric_limits<std::uint32_t>::max();
    begin(schema::kDiagnosticsModuleLoad)
        .number(load.start)
        .number(std::min(load.size, kMaxSize))
        .wide_text(file.path)
        .bytes(std::as_bytes(std::span{file.build_id}))
        .finish();
    add(schema::kDiagnosticsModuleLoad);
}

void RecordEvents::module_load(const ModuleLoad& load) {
    begin(schema::kModuleLoad)
        .number(load.module.value)
        .number(load.process.value)
        .number(load.base)
        .number(load.start)
        .number(load.size)
        .number(load.time_ns)
        .finish();
    add(schema::kModuleLoad);
    if (load.process.value == 1) {
        standard_module_load(load);  // The standard event knows one process.
    }
}

}  // namespace sample::trace
