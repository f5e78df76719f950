// The machine code and the source text that go into a recording, so that `sample annotate` works
// where neither the binaries nor the sources are.
//
// Kept are the functions with more than 0.1 % of all functions' own time, and those that hold 1 %
// of all time with what they call; of their sources the lines that they came from, with some around
// each. Both are bounded.
#pragma once

#include "analysis/symbolize_recording.h"
#include "callgraph/recording.h"
#include "core/ids.h"
#include "core/program_code.h"
#include "core/symbols.h"
#include "trace/attachments.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sample::analysis {

struct KeptCode {
    std::map<ModuleId, ModuleCode> modules;
    std::vector<SourceText> sources;  ///< By file.
};

struct CodeBudget {
    std::size_t code_bytes = std::size_t{2} << 20;
    std::size_t source_bytes = std::size_t{2} << 20;
    std::uint32_t context_lines = 5;
};

/// Reads what is worth keeping from the modules' files and from the sources that they name. What
/// cannot be read is left out. `symbols` are those of Recording::addresses(); `where`: the files.
[[nodiscard]] KeptCode gather_code(const callgraph::Recording& recording, const Symbols& symbols,
                                   const NamingOptions& where, const CodeBudget& budget = {});

/// The same as a recording carries it.
[[nodiscard]] std::vector<trace::Attachment> attachments_of(const KeptCode& kept);
/// What a recording carries; what does not parse is left out.
[[nodiscard]] KeptCode kept_code_of(const callgraph::Recording& recording);

}  // namespace sample::analysis
