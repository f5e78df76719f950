// What `sample annotate` shows of a function, as plain values: its source lines and its machine
// instructions, with what was spent in each.
//
// An address in inlined code belongs to several functions at once. The function's own time (self)
// is that of the addresses whose innermost function it is, as in a report; all else that was spent
// at or below an address is part of the total. So the selves of the lines, and those of the
// instructions, add up to the function's self.
#pragma once

#include "analysis/kept_code.h"
#include "callgraph/key_weights.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/program_code.h"
#include "core/result.h"
#include "core/symbols.h"
#include "symbolize/code/disassembler.h"
#include "symbolize/symbolizer.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::analysis {

/// A function whose code was inlined into the annotated one, and where in it.
struct InlinedPlace {
    std::string function;
    std::string file;
    std::uint32_t line = 0;
    bool operator==(const InlinedPlace&) const = default;
};

/// A line of the function. Lines of other files are its too: of a file that is included in its
/// body.
struct AnnotatedLine {
    std::string file;
    std::uint32_t line = 0;  ///< 0: the compiler does not say.
    callgraph::KeyWeight weight;
};

struct AnnotatedInstruction {
    std::uint64_t address = 0;
    std::string text;
    std::uint32_t line = 0;             ///< Index into Annotation::lines.
    std::vector<InlinedPlace> inlined;  ///< Innermost first; empty: the function's own code.
    callgraph::KeyWeight weight;
};

/// Instructions that lie together.
struct AnnotatedCode {
    std::string function;  ///< That the code lies in: another one where this one was inlined.
    std::string module;
    std::vector<AnnotatedInstruction> instructions;
};

struct Annotation {
    callgraph::Function function;  ///< Its own weights are not filled in.
    std::string module;            ///< The function's: the file's name.
    callgraph::KeyWeight weight;
    std::string unit;                  ///< What weights count; empty: nanoseconds.
    std::vector<AnnotatedLine> lines;  ///< By file and line.
    std::vector<AnnotatedCode> code;   ///< Heaviest first.
    std::vector<SourceText> sources;   ///< Of the files of `lines`, as far as they are known.
    std::vector<std::string> notes;    ///< One line each, for people.
};

/// A line's text; nullptr where it is not known.
[[nodiscard]] const std::string* line_of(const SourceText& text, std::uint32_t line);

/// Where the code and the source text come from: a recording, or this machine's files.
class AnnotationSources {
public:
    AnnotationSources() = default;
    virtual ~AnnotationSources() = default;
    /// The code of a module with what lies around `addresses`, the heaviest first, as far as there
    /// is any. Until the next call.
    [[nodiscard]] virtual const ModuleCode* code(ModuleId module,
                                                 std::span<const std::uint64_t> addresses) = 0;
    /// The text around these lines of a file, as far as there is any.
    [[nodiscard]] virtual SourceText text(const std::string& file,
                                          const std::vector<std::uint32_t>& lines) = 0;
    /// Whether there is any for this line.
    [[nodiscard]] virtual bool has_text(const std::string& file, std::uint32_t line) = 0;
    /// What could not be had, for people.
    [[nodiscard]] virtual std::vector<std::string> problems() = 0;

protected:
    AnnotationSources(const AnnotationSources&) = default;
    AnnotationSources(AnnotationSources&&) = default;
    AnnotationSources& operator=(const AnnotationSources&) = default;
    AnnotationSources& operator=(AnnotationSources&&) = default;
};

/// The recording, and for what that does not have, the files of this machine.
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
    [[nodiscard]] bool has_text(const std::string& file, std::uint32_t line) override;
    [[nodiscard]] std::vector<std::string> problems() override { return problems_; }

private:
    /// Errors: none of it can be had.
    [[nodiscard]] Result<SourceText> find_text(const std::string& file,
                                               const std::vector<std::uint32_t>& lines) const;

    const callgraph::Recording& recording_;
    const KeptCode& kept_;
    symbolize::Options where_;
    ModuleCode local_;
    std::vector<std::string> problems_;
};

struct AnnotationRequest {
    /// By the rules of callgraph::focus(). Empty: the one with most time of its own of those that
    /// have source text.
    std::string_view function;
    symbolize::AssemblySyntax syntax = symbolize::AssemblySyntax::att;
    bool want_code = true;
    /// What names of what instructions call are shown as; null: whole.
    std::function<std::string(std::string)> shorten = {};
};

/// Errors: not_found, if no function is called so, or none has source text; unsupported, if what is
/// called so is no code.
[[nodiscard]] Result<Annotation> annotate(const callgraph::Recording& recording,
                                          const Symbols& symbols, const AnnotationRequest& request,
                                          AnnotationSources& sources);

}  // namespace sample::analysis
