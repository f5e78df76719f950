// Where `sample annotate` takes code and source text from: the recording, and for what that does
// not have, the files of this machine.
#pragma once

#include "analysis/annotation.h"
#include "analysis/kept_code.h"
#include "callgraph/recording.h"
#include "symbolize/symbolizer.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sample::analysis {

/// Keeps references to its arguments. Files of this machine are read only when asked for something
/// that was not kept, and only if they are the build that ran.
class KeptOrLocal final : public AnnotationSources {
public:
    /// `where` says where separate debug files are.
    KeptOrLocal(const callgraph::Recording& recording, const KeptCode& kept,
                symbolize::Options where)
        : recording_{recording}, kept_{kept}, where_{std::move(where)} {}

    [[nodiscard]] const ModuleCode* code(ModuleId module,
                                         std::span<const std::uint64_t> addresses) override;
    [[nodiscard]] SourceText text(const std::string& file,
                                  const std::vector<std::uint32_t>& lines) override;
    [[nodiscard]] std::vector<std::string> problems() override { return problems_; }

private:
    const callgraph::Recording& recording_;
    const KeptCode& kept_;
    symbolize::Options where_;
    ModuleCode local_;
    std::vector<std::string> problems_;
};

}  // namespace sample::analysis
