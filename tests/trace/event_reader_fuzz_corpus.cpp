// Writes the seed files of event_reader_fuzz into the directory named on the command line: a stream
// in each protocol.
#include "tests/trace/foreign_writer.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace {

using namespace sample::trace::foreign;  // NOLINT(google-build-using-namespace): one purpose

/// A stream as another program writes it: an ordered event kept for another thread's, scopes with
/// times, all kinds of fields.
Stream a_stream(unsigned transport, unsigned protocol) {
    Stream stream{transport, protocol};
    stream.begin(1000, 1'000'000);
    stream.thread(2, 40, "main");
    stream.declare(20, kHasAux, "A", "B", {{"I", kI16}, {"F", kF32}, {"W", kWide}, {"S", kAnsi}});
    stream.declare(21, kNoSync, "$Trace", "ThreadTiming", {{"BaseTimestamp", kU64}});
    stream.packet(2, Out{}.event(21).number(5000, 8).timed_scope(8, 5));
    for (unsigned i = 0; i < 4; ++i) {
        stream.packet(2 + i % 2, Out{}
                                     .event(20, 10 + (i ^ 1))
                                     .number(i, 2)
                                     .real(0.5F)
                                     .thread_aux(2, wide(u"wide"))
                                     .thread_aux(31, narrow("raw"))
                                     .thread_end()
                                     .enter());
        stream.sync();
    }
    stream.packet(2, Out{}.event(21).number(1, 8).timed_scope(7, 5).leave());
    return stream;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: event_reader_fuzz_corpus DIRECTORY\n", stderr);
        return 2;
    }
    for (const unsigned protocol : {5U, 6U, 7U}) {
        const Stream stream = a_stream(protocol == 5 ? 3 : 4, protocol);
        std::ofstream file{std::string{argv[1]} + "/" + std::to_string(protocol) + ".utrace",
                           std::ios::binary};
        file.write(reinterpret_cast<const char*>(stream.bytes().data()),
                   static_cast<std::streamsize>(stream.bytes().size()));
        if (!file.flush()) {
            std::fprintf(stderr, "cannot write into %s; make the directory first\n", argv[1]);
            return 1;
        }
    }
    return 0;
}
