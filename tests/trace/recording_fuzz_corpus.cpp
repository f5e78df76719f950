// Writes the seed files of recording_fuzz into the directory named on the command line: small
// recordings, whole and cut, compressed and not, ours and foreign ones.
#include "core/fd.h"
#include "tests/trace/symbol_block_fixture.h"
#include "tests/trace/test_writer.h"
#include "trace/attachments.h"
#include "trace/message_text.h"
#include "trace/packed.h"

#include <fcntl.h>
#include <lz4.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace sample;         // NOLINT(google-build-using-namespace): one program, one purpose
using namespace sample::trace;  // NOLINT(google-build-using-namespace)

std::vector<Attachment> some_attachments(std::uint32_t count) {
    std::vector<Attachment> attachments;
    for (std::uint32_t i = 0; i < count / 20; ++i) {
        const SymbolBlock block = made_up_block(i, 10, 3);
        attachments.push_back(
            {static_cast<AttachmentKind>(i % kAttachmentKinds), ModuleId{i}, pack(encode(block))});
    }
    return attachments;
}

/// One of each kind, a thread's stream of several packets among them.
void say_something(RecordingWriter& writer) {
    writer.instrumentation(Channel{ChannelId{1}, "cpu", true, false});
    writer.instrumentation(ChannelToggle{ChannelId{1}, false});
    writer.instrumentation(ZoneSpec{ZoneId{1}, "outer", "io", 0xff0000, "a.cpp", 3});
    writer.instrumentation(ZoneSpec{ZoneId{2}, "inner"});
    writer.instrumentation(
        ZoneNote{ZoneNoteId{1}, ZoneId{2}, {{"n", std::int64_t{-7}}, {"r", 0.5}}});
    writer.instrumentation(CounterSpec{CounterId{1}, ProcessId{1}, "c", true, true});
    writer.instrumentation(FrameKind{2, "physics"});
    writer.instrumentation(ThreadGroup{ThreadId{1}, "pool"});
    writer.instrumentation(MessageSpec{MessageId{1}, true, "", Verbosity::log, "%d %5.1f %s"});
    writer.instrumentation(MessageSpec{MessageId{2}, false, "Disk", Verbosity::error, "%*s"});
    const auto arguments = ArgumentsBuilder{}.integer(5).real(0.5).text("x").arguments();
    EventTypeSpec type{EventTypeId{1}, "Dog", "Bark", 0, {{"N", 0x02}, {"S", 0x89}, {"F", 0x43}}};
    writer.instrumentation(type);
    for (std::uint32_t i = 0; i < 300; ++i) {
        const std::uint64_t time = 1'000'000 + std::uint64_t{i} * 1'000;
        ZoneEdge edge{ThreadId{1}, EdgeKind::begin, time, ZoneId{1 + i % 2}};
        edge.note = ZoneNoteId{i % 6 == 1 ? 1U : 0U};
        writer.zone(edge);
        writer.zone({ThreadId{1}, EdgeKind::suspend, time + 1, ZoneId{1 + i % 2}, {}, 1});
        writer.zone({ThreadId{1}, EdgeKind::resume, time + 2, ZoneId{1 + i % 2}, {}, 1});
        writer.zone({ThreadId{1}, EdgeKind::end, time + 3, {}});
        if (i % 30 != 0) {
            continue;
        }
        writer.instrumentation(CounterValue{ThreadId{1}, time + 4, CounterId{1}, 0.25 * i});
        writer.instrumentation(FrameEdge{ThreadId{1}, time + 5, 0, i % 60 == 0});
        writer.instrumentation(RegionBegin{ThreadId{1}, time + 6, i, "r", "net"});
        writer.instrumentation(RegionEnd{ThreadId{1}, time + 7, i, "r"});
        writer.instrumentation(
            Message{ThreadId{1}, time + 8, MessageId{1 + i / 30 % 2}, arguments});
        writer.instrumentation(Flow{ThreadId{1}, time + 9, 1, FlowStep::step});
        RaisedEvent event{ThreadId{1}, time + 10, EventTypeId{1}, ScopeKind::none, i + 1, {}, {}};
        event.fixed.resize(4 + 8);
        event.variable = {{1, std::vector<std::byte>(2 * std::size_t{i})}};
        event.scope = static_cast<ScopeKind>(i / 30 % 3);
        writer.instrumentation(event);
    }
    writer.instrumentation(HeapSpec{HeapId{1}, "arena"});
    writer.instrumentation(MemoryTagSpec{MemoryTagId{1}, "level"});
    // In the module that is loaded, whole and in part: in a foreign file frames are addresses.
    writer.instrumentation(CallStack{1, {0x2101, 0x2201, 0x402000}});
    writer.instrumentation(CallStack{2, {0x2105, 0x2201, 0x402000}});
    for (std::uint32_t i = 0; i < 20; ++i) {
        MemoryEvent event;
        event.thread = ThreadId{1};
        event.kind = static_cast<MemoryKind>(i % 4);
        event.time_ns = 1'000'000 + i * 60'000;
        event.address = 0x1000 + 16 * (i / 2);
        event.bytes = 16 * i;
        event.heap = HeapId{i / 4 % 2};
        event.tag = MemoryTagId{i / 5 % 2};
        event.call_stack = 1 + i % 2;
        writer.memory(event);
    }
    writer.instrumentation(InstrumentationLoss{ThreadId{1}, 9, 1, 2});
}

bool write_recording(const std::string& path, std::uint32_t samples, bool is_ended,
                     bool says_something) {
    SessionStart session;
    session.period = 100'000;
    session.command_line = "app --mode fast";
    auto writer = TestWriter::create(
        Fd{open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644)}, session);
    if (!writer) {
        return false;
    }
    writer->record(Process{ProcessId{1}, 10, 9, 5, "/bin/app", "app", "sigtrap", ""});
    writer->record(UnprofiledProgram{11, 10, 6, "/bin/static", "static"});
    writer->record(Module{ModuleId{1}, ModuleKind::elf, false, "/bin/app", {1, 2, 3}});
    writer->record(Module{ModuleId{2}, ModuleKind::pseudo, false, kNotSampled, {}});
    writer->record(ModuleLoad{ModuleId{1}, ProcessId{1}, 0x1000, 0x2000, 0x3000, 5});
    writer->record(Thread{ThreadId{1}, ProcessId{1}, 10, 5, "app"});
    writer->record(ThreadName{ThreadId{1}, "worker"});
    for (std::uint32_t i = 0; i < samples; ++i) {
        const NodeId root = writer->node(NodeId{}, ModuleId{1 + i % 2}, 0x400 + i % 3);
        const std::uint64_t guess = i % 5 == 0 ? kGuessedFrame : 0;
        const NodeId leaf = writer->node(root, ModuleId{1}, (0x500 + 16 * (i % 11)) | guess);
        writer->sample(Sample{ThreadId{1}, i * std::uint64_t{100'000}, leaf, 100'000 + i % 4});
        writer->sample(Sample{ThreadId{1}, i * std::uint64_t{100'000}, root, i, true});
    }
    if (says_something) {
        say_something(writer->writer());
    }
    writer->record(ProcessEnd{ProcessId{1}, EndKind::exited, 0, 9, 8, 7, 6, 5, 4, 3, 2});
    if (!is_ended) {
        return writer->flush(FlushMode::everything).has_value();
    }
    return writer->finish(SessionEnd{9, false, "a note"}).has_value() &&
           append_attachments(Fd{open(path.c_str(), O_WRONLY | O_CLOEXEC)},
                              some_attachments(samples))
               .has_value();
}

std::string read_file(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// The same recording with every packet unpacked.
std::string unpacked(const std::string& file) {
    constexpr std::size_t kHeaderBytes = 48;
    std::string out = file.substr(0, kHeaderBytes);
    const auto word = [&file](std::size_t at) {
        return static_cast<std::size_t>(static_cast<unsigned char>(file[at])) |
               static_cast<std::size_t>(static_cast<unsigned char>(file[at + 1])) << 8;
    };
    for (std::size_t at = kHeaderBytes; at < file.size();) {
        const std::size_t size = word(at);
        std::string payload = file.substr(at + 4, size - 4);
        if ((word(at + 2) & 0x8000) != 0) {
            payload.assign(word(at + 4), '\0');
            LZ4_decompress_safe(file.data() + at + 6, payload.data(), static_cast<int>(size - 6),
                                static_cast<int>(payload.size()));
        }
        const std::size_t tid = word(at + 2) & 0x3fff;
        for (const std::size_t value : {payload.size() + 4, tid}) {
            out.push_back(static_cast<char>(value & 0xff));
            out.push_back(static_cast<char>(value >> 8));
        }
        out += payload;
        at += size;
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: recording_fuzz_corpus DIRECTORY\n", stderr);
        return 2;
    }
    const std::string directory = std::string{argv[1]} + "/";
    struct Seed {
        const char* name;
        std::uint32_t samples;
        bool is_ended;
        bool says_something;
    };
    for (const Seed& seed : {Seed{"empty", 0, true, false}, Seed{"small", 20, true, false},
                             Seed{"broken-off", 20, false, false}, Seed{"larger", 400, true, false},
                             Seed{"said", 0, true, true}}) {
        const std::string path = directory + seed.name + ".utrace";
        if (!write_recording(path, seed.samples, seed.is_ended, seed.says_something)) {
            std::fprintf(stderr, "cannot write %s; make the directory first\n", path.c_str());
            return 1;
        }
        std::ofstream{directory + seed.name + "-unpacked.utrace", std::ios::binary}
            << unpacked(read_file(path));
    }
    // The same without a session of ours, with batches of both versions.
    std::string foreign = unpacked(read_file(directory + "said.utrace"));
    foreign.replace(foreign.find("SampleSession"), 13, "EngineSession");
    std::ofstream{directory + "foreign.utrace", std::ios::binary} << foreign;
    foreign.replace(foreign.find("EventBatchV3"), 12, "EventBatchV2");
    std::ofstream{directory + "foreign-v2.utrace", std::ios::binary} << foreign;
    return 0;
}
