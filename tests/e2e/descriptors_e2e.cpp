// The program's descriptors are its own, each moment: what another thread opens gets the number
// that it would get without us, and what it has put there stays.
#include "each_source.h"

namespace sample::e2e {
namespace {

using Descriptors = EachSource;

TEST_P(Descriptors, are_never_taken_from_another_thread) {
    for (const char* way : {"spawn", "thread", "exec", "exit", "fork", "tracer"}) {
        SCOPED_TRACE(way);
        const Outcome outcome = record_by_source({target("owns_descriptors"), way, "200"});
        EXPECT_EQ(outcome.out, "lost 0, moved 0\n") << outcome.err;
    }
}

SAMPLE_FOR_EACH_SOURCE(Descriptors);

}  // namespace
}  // namespace sample::e2e
