// Any bytes as a jitdump: it is refused, or every address gets an answer whose function and files
// are there, and following it ends.
#include "core/fd.h"
#include "symbolize/runtime/runtime_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using sample::symbolize::DumpAddresses;
using sample::symbolize::RuntimeCode;

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

void require_whole(const RuntimeCode& code, std::size_t addresses) {
    require(code.locations.size() == addresses);
    for (const auto& place : code.locations) {
        require(!place ||
                (place->function < code.functions.size() && place->file < code.files.size()));
    }
    for (const RuntimeCode::Function& function : code.functions) {
        require(function.file < code.files.size());
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const sample::Fd file{::memfd_create("dump", MFD_CLOEXEC)};
    require(::ftruncate(file.get(), 0) == 0 &&
            ::pwrite(file.get(), data, size, 0) == static_cast<ssize_t>(size));
    auto reader = sample::jitdump::Reader::open(file.get());
    if (!reader) {
        require(!reader.error().context.empty());
        return 0;
    }
    std::array<std::uint64_t, 64> addresses{};
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        addresses[i] = i < 48 ? i * 8 : std::uint64_t{0x1000} + i;
    }
    for (const DumpAddresses are : {DumpAddresses::offsets, DumpAddresses::run_time}) {
        require_whole(sample::symbolize::read_jitdump(*reader, addresses, are), addresses.size());
    }
    std::uint64_t end = 0;
    while (const auto record = reader->next()) {
        require(record->offset >= end);
        end = record->offset + record->size;
        require(end <= size);
        require(record->code_offset + record->code_size >= record->code_size);
    }
    return 0;
}
