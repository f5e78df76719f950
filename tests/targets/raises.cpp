// raises WAY: events of a program's own, of all types of fields, in all ways.
#include "sample/trace.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

SAMPLE_TRACE_CHANNEL_DEFINE(events);
SAMPLE_TRACE_CHANNEL_DEFINE(never);

// clang-format off
SAMPLE_TRACE_EVENT_BEGIN(Types, Numbers, NoSync)
    SAMPLE_TRACE_EVENT_FIELD(std::int8_t, I8)
    SAMPLE_TRACE_EVENT_FIELD(std::int16_t, I16)
    SAMPLE_TRACE_EVENT_FIELD(std::int32_t, I32)
    SAMPLE_TRACE_EVENT_FIELD(std::int64_t, I64)
    SAMPLE_TRACE_EVENT_FIELD(std::uint8_t, U8)
    SAMPLE_TRACE_EVENT_FIELD(std::uint16_t, U16)
    SAMPLE_TRACE_EVENT_FIELD(std::uint32_t, U32)
    SAMPLE_TRACE_EVENT_FIELD(std::uint64_t, U64)
    SAMPLE_TRACE_EVENT_FIELD(float, F32)
    SAMPLE_TRACE_EVENT_FIELD(double, F64)
SAMPLE_TRACE_EVENT_END()

SAMPLE_TRACE_EVENT_BEGIN_EXTERN(Types, Parts, NoSync)
    SAMPLE_TRACE_EVENT_FIELD(sample::trace::AnsiString, Ansi)
    SAMPLE_TRACE_EVENT_FIELD(std::uint8_t[], U8)
    SAMPLE_TRACE_EVENT_FIELD(std::uint16_t, Between)
    SAMPLE_TRACE_EVENT_FIELD(std::int16_t[], I16)
    SAMPLE_TRACE_EVENT_FIELD(double[], F64)
    SAMPLE_TRACE_EVENT_FIELD(sample::trace::WideString, Wide)
SAMPLE_TRACE_EVENT_END()
SAMPLE_TRACE_EVENT_DEFINE(Types, Parts)

SAMPLE_TRACE_EVENT_BEGIN(Types, Turn)
    SAMPLE_TRACE_EVENT_FIELD(std::uint32_t, Turn)
SAMPLE_TRACE_EVENT_END()

SAMPLE_TRACE_EVENT_BEGIN(Types, Kept, Important | NoSync)
    SAMPLE_TRACE_EVENT_FIELD(std::uint32_t, Number)
    SAMPLE_TRACE_EVENT_FIELD(sample::trace::AnsiString, Text)
SAMPLE_TRACE_EVENT_END()

SAMPLE_TRACE_EVENT_BEGIN(Types, Nothing, NoSync)
SAMPLE_TRACE_EVENT_END()
// clang-format on

namespace {

template <class T>
constexpr T kLeast = std::numeric_limits<T>::min();
template <class T>
constexpr T kMost = std::numeric_limits<T>::max();

void fields() {
    SAMPLE_TRACE_EVENT(Types, Numbers, events)
        << Numbers.F64(-0.5) << Numbers.I8(kLeast<std::int8_t>) << Numbers.I16(kLeast<std::int16_t>)
        << Numbers.I32(kLeast<std::int32_t>) << Numbers.I64(kLeast<std::int64_t>)
        << Numbers.U8(kMost<std::uint8_t>) << Numbers.U16(kMost<std::uint16_t>)
        << Numbers.U32(kMost<std::uint32_t>) << Numbers.U64(kMost<std::uint64_t>)
        << Numbers.F32(0.25F);
    SAMPLE_TRACE_EVENT(Types, Numbers, events) << Numbers.I16(-10);
    const std::vector<std::int16_t> shorts{-1, 2};
    const double one = 1;
    SAMPLE_TRACE_EVENT(Types, Parts, events)
        << Parts.Wide(L"a\u00e9\U0001f308") << Parts.F64(&one, 1)
        << Parts.I16(shorts.data(), shorts.size()) << Parts.Ansi(std::string{"made"} + " here")
        << Parts.Between(7);
    SAMPLE_TRACE_EVENT(Types, Parts, events)
        << Parts.Ansi(L"\u0161wide", 3) << Parts.Wide(u"narrower", 6)
        << Parts.U8(static_cast<const std::uint8_t*>(nullptr), 3);
    SAMPLE_TRACE_EVENT(Types, Parts, events)
        << Parts.Ansi("cut off", 3) << Parts.Wide(static_cast<const wchar_t*>(nullptr));
    SAMPLE_TRACE_EVENT(Types, Nothing, events);
    if (one > 0)
        SAMPLE_TRACE_EVENT(Types, Nothing, events | never);
    else
        std::abort();
}

void scopes() {
    SAMPLE_TRACE_EVENT_TIMED_SCOPE(Types, Turn, events) << Turn.Turn(1);
    SAMPLE_TRACE_ZONE("zone");
    {
        SAMPLE_TRACE_EVENT_SCOPE(Types, Numbers, events) << Numbers.U8(2);
        SAMPLE_TRACE_EVENT(Types, Nothing, events);
        SAMPLE_TRACE_EVENT_SCOPE(Types, Numbers, never) << Numbers.U8(3);
        // There is one zone to suspend, whatever is asked for.
        sample_trace_coroutine coroutine = {0, 0};
        SAMPLE_TRACE_SUSPEND(coroutine, "coroutine", 3);
        SAMPLE_TRACE_RESUME(coroutine);
    }
    try {
        SAMPLE_TRACE_EVENT_SCOPE(Types, Nothing, events);
        throw 1;
    } catch (int) {
    }
}

void turns() {
    constexpr std::uint32_t kTurns = 2'000;
    std::atomic<std::uint32_t> turn{0};
    const auto take = [&turn](std::uint32_t mine) {
        for (; mine < kTurns; mine += 2) {
            while (turn.load() != mine) {
                std::this_thread::yield();
            }
            SAMPLE_TRACE_EVENT(Types, Turn, events) << Turn.Turn(mine);
            turn.store(mine + 1);
        }
    };
    std::thread other{take, 1};
    take(0);
    other.join();
}

/// What an event may have, and one byte more; what an Important one states, and one less.
void limits() {
    constexpr std::size_t kMostOfOnePart = 32 * 1024 - 8 - 2 - 4;
    const std::vector<std::uint8_t> bytes(kMostOfOnePart + 1, 9);
    SAMPLE_TRACE_EVENT(Types, Parts, events) << Parts.U8(bytes.data(), bytes.size() - 1);
    SAMPLE_TRACE_EVENT(Types, Parts, events) << Parts.U8(bytes.data(), bytes.size());
    SAMPLE_TRACE_EVENT(Types, Kept, events, 4) << Kept.Number(1) << Kept.Text("four");
    SAMPLE_TRACE_EVENT(Types, Kept, events, 3) << Kept.Number(2) << Kept.Text("four");
    SAMPLE_TRACE_EVENT(Types, Kept, events) << Kept.Number(3);
    const std::string large(30'000, 'x');
    // More than there is room for.
    for (std::uint32_t i = 4; i < 200; ++i) {
        SAMPLE_TRACE_EVENT(Types, Kept, events, large.size())
            << Kept.Number(i) << Kept.Text(large.data(), large.size());
    }
}

void forks() {
    SAMPLE_TRACE_EVENT(Types, Kept, events) << Kept.Number(1);
    const pid_t child = ::fork();
    if (child == 0) {
        SAMPLE_TRACE_EVENT(Types, Kept, events) << Kept.Number(2);
        SAMPLE_TRACE_EVENT(Types, Turn, events) << Turn.Turn(1);
        std::exit(0);
    }
    ::waitpid(child, nullptr, 0);
    SAMPLE_TRACE_EVENT(Types, Kept, events) << Kept.Number(3);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "";
    if (way == "fields") {
        fields();
    } else if (way == "scopes") {
        scopes();
    } else if (way == "turns") {
        turns();
    } else if (way == "limits") {
        limits();
    } else if (way == "fork") {
        forks();
    } else {
        return 2;
    }
}
