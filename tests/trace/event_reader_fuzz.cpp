// Fuzzes the reader of any stream with libFuzzer. Beside "no crash, no sanitizer report", it checks
// that a stream in pieces gives the same events as in one. The seeds are made by
// event_reader_fuzz_corpus.
#include "trace/event_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace {

using namespace sample::trace;  // NOLINT(google-build-using-namespace): one program, one purpose

/// Reads a stream in pieces and every field of its events. Returns what they say in one number, and
/// how the reading ended.
std::pair<std::uint64_t, std::string> digest(std::span<const std::byte> stream, std::size_t piece) {
    std::uint64_t sum = 0;
    EventReader reader;
    reader.subscribe_to_others([&](const EventView& event) {
        constexpr std::uint64_t kPrime = 0x100000001b3;
        sum = sum * kPrime + event.stream() + static_cast<unsigned>(event.style());
        sum = sum * kPrime + event.occurrence().cycle.value_or(1) + event.attachment().size();
        for (const DeclaredField& field : event.type().fields) {
            sum = sum * kPrime + event.number<std::uint64_t>(field.name);
            sum =
                sum * kPrime + event.text(field.name).size() + (event.real(field.name) > 0 ? 1 : 0);
        }
        return std::optional<std::string>{};
    });
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        const auto more = reader.feed(stream.subspan(at, std::min(piece, stream.size() - at)));
        if (!more) {
            return {0, more.error().message()};
        }
        if (!*more) {
            break;
        }
    }
    const StreamOutcome outcome = reader.finish();
    if (outcome.bytes_used > stream.size()) {
        std::abort();
    }
    return {sum, outcome.problem};
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kPiece = 61;
    const std::span<const std::byte> stream = std::as_bytes(std::span{data, size});
    if (size != 0 && digest(stream, size) != digest(stream, kPiece)) {
        std::abort();
    }
    return 0;
}
