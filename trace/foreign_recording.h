// A .utrace file of another program, read as if it were a recording of ours: one process, without
// samples.
#pragma once

#include "trace/event_reader.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <span>
#include <string>

namespace sample::trace {

struct ForeignOutcome {
    StreamOutcome stream;
    std::string instrumentation_problem;  ///< InstrumentationReader::problem().
};

/// Reads `file`, which has no session of ours, and hands `sink` a session that begins when its
/// clock does, a process, its threads, modules and call stacks, what it says, and at last the ends
/// of both. It is read twice, as an engine defines things also after their use. `passed`, memory
/// and errors: as EventReader::run() and InstrumentationReader have it, and ForeignStacks.
Result<ForeignOutcome> read_foreign(std::span<const std::byte> file, RecordSink& sink,
                                    const Passed& passed = {});

}  // namespace sample::trace
