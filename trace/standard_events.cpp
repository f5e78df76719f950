#include "trace/standard_events.h"

#include "core/text.h"
#include "core/units.h"
#include "trace/hash.h"
#include "trace/instrumentation_events.h"

#include <array>
#include <cstring>
#include <limits>

namespace sample::trace {
namespace {

struct NewTrace {
    std::uint64_t start_cycle = 0;
    std::uint64_t cycle_frequency = kNsPerSecond;
    std::uint16_t endian = 0x524d;
    std::uint8_t pointer_size = sizeof(void*);
};

struct ThreadInfo {
    std::uint32_t thread_id = 0;
    std::uint32_t system_id = 0;
    std::int32_t sort_hint = 0;
    std::string name;
};

struct Session2 {
    std::uint32_t changelist = 0;
    std::uint8_t configuration_type = 0;
    std::uint8_t target_type = 0;
    std::string platform = "Linux";
    std::string app_name = "sample";
    std::string project_name;
    std::string command_line;
    std::string branch;
    std::string build_version;
    std::vector<std::uint8_t> instance_id;
};

struct ModuleInit {
    std::uint8_t base_shift = 0;
    std::string symbol_format = "dwarf";
};

struct DiagnosticsModuleLoad {
    std::uint64_t base = 0;
    std::uint32_t size = 0;
    std::string name;
    std::vector<std::uint8_t> image_id;
};

}  // namespace

template <>
inline constexpr auto kType<NewTrace> =
    event_type(16, "$Trace", "NewTrace", number("StartCycle", &NewTrace::start_cycle),
               number("CycleFrequency", &NewTrace::cycle_frequency),
               number("Endian", &NewTrace::endian), number("PointerSize", &NewTrace::pointer_size));
template <>
inline constexpr auto kType<ThreadInfo> = event_type(17, "$Trace", "ThreadInfo",
                                                     number("ThreadId", &ThreadInfo::thread_id),
                                                     number("SystemId", &ThreadInfo::system_id),
                                                     number("SortHint", &ThreadInfo::sort_hint),
                                                     text("Name", &ThreadInfo::name));
template <>
inline constexpr auto kType<Session2> =
    event_type(18, "Diagnostics", "Session2", number("Changelist", &Session2::changelist),
               number("ConfigurationType", &Session2::configuration_type),
               number("TargetType", &Session2::target_type), text("Platform", &Session2::platform),
               text("AppName", &Session2::app_name), text("ProjectName", &Session2::project_name),
               text("CommandLine", &Session2::command_line, kMaxCommandLineBytes),
               text("Branch", &Session2::branch), text("BuildVersion", &Session2::build_version),
               words("InstanceId", &Session2::instance_id));
template <>
inline constexpr auto kType<ModuleInit> =
    event_type(19, "Diagnostics", "ModuleInit", number("ModuleBaseShift", &ModuleInit::base_shift),
               text("SymbolFormat", &ModuleInit::symbol_format));
template <>
inline constexpr auto kType<DiagnosticsModuleLoad> =
    event_type(20, "Diagnostics", "ModuleLoad", number("Base", &DiagnosticsModuleLoad::base),
               number("Size", &DiagnosticsModuleLoad::size),
               text("Name", &DiagnosticsModuleLoad::name, kMaxPathBytes),
               bytes("ImageId", &DiagnosticsModuleLoad::image_id, kMaxBuildIdBytes));

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

std::span<const EventSpec> standard_events() {
    static constexpr std::array kSpecs{kSpec<NewTrace>, kSpec<ThreadInfo>, kSpec<Session2>,
                                       kSpec<ModuleInit>, kSpec<DiagnosticsModuleLoad>};
    return kSpecs;
}

void StandardEvents::beside(const SessionStart& session) {
    events_.add(NewTrace{session.start_ns});
    Session2 standard;
    standard.command_line = session.command_line;
    standard.project_name =
        file_name(standard.command_line.substr(0, standard.command_line.find(' ')));
    standard.build_version = session.tool_version;
    const Guid instance = make_guid(session, 0);
    standard.instance_id.assign(instance.begin(), instance.end());
    events_.add(standard);
    events_.add(ThreadInfo{EventWriter::kDataStream, 0, 0, "[sample recording]"});
    events_.add(ModuleInit{});
}

void StandardEvents::name_thread(ThreadId id) {
    // Readers number threads from 2 up, with 14 bits.
    const std::uint32_t number = std::uint32_t{EventWriter::kDataStream} + id.value;
    if (number > wire::kLastThreadStream) {
        return;
    }
    const ThreadNames& its = threads_[id.value - 1];
    if (!its.group.empty()) {
        events_.add(ThreadGroupBeginEvent{its.group});
    }
    events_.add(ThreadInfo{number, its.tid, 0, its.name});
    if (!its.group.empty()) {
        events_.add(ThreadGroupEndEvent{});
    }
}

void StandardEvents::beside(const Thread& thread) {
    threads_.push_back({thread.tid, thread.name});
    name_thread(thread.id);
}

void StandardEvents::beside(const ThreadName& name) {
    threads_[name.id.value - 1].name = name.name;
    name_thread(name.id);
}

void StandardEvents::beside(const ThreadGroup& group) {
    threads_[group.thread.value - 1].group = group.name;
    name_thread(group.thread);
}

void StandardEvents::beside(const ModuleLoad& load) {
    if (load.process.value != 1) {
        return;  // The standard event knows one process.
    }
    const Module& module = modules_[load.module.value - 1];
    constexpr std::uint64_t kMaxSize = std::numeric_limits<std::uint32_t>::max();
    events_.add(DiagnosticsModuleLoad{load.start,
                                      static_cast<std::uint32_t>(std::min(load.size, kMaxSize)),
                                      module.path, module.build_id});
}

}  // namespace sample::trace
