// Writes the seed files of recording_fuzz into the directory named on the command line: small
// recordings, whole and cut, compressed and not.
#include "core/fd.h"
#include "tests/trace/symbol_block_fixture.h"
#include "tests/trace/test_writer.h"
#include "trace/attachments.h"
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

bool write_recording(const std::string& path, std::uint32_t samples, bool is_ended) {
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
    };
    for (const Seed& seed : {Seed{"empty", 0, true}, Seed{"small", 20, true},
                             Seed{"broken-off", 20, false}, Seed{"larger", 400, true}}) {
        const std::string path = directory + seed.name + ".utrace";
        if (!write_recording(path, seed.samples, seed.is_ended)) {
            std::fprintf(stderr, "cannot write %s; make the directory first\n", path.c_str());
            return 1;
        }
        std::ofstream{directory + seed.name + "-unpacked.utrace", std::ios::binary}
            << unpacked(read_file(path));
    }
    return 0;
}
