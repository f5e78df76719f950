// Where `sample annotate` takes code and source text from.
#include "analysis/annotation.h"
#include "symbolize/code/code_reader.h"
#include "symbolize/code/source_reader.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace sample::analysis {
namespace {

constexpr std::size_t kUnbounded = std::size_t{1} << 30;
constexpr std::uint32_t kContextLines = 5;

}  // namespace

const std::string* line_of(const SourceText& text, std::uint32_t line) {
    for (const SourcePiece& piece : text.pieces) {
        if (line >= piece.first_line && line - piece.first_line < piece.lines.size()) {
            return &piece.lines[line - piece.first_line];
        }
    }
    return nullptr;
}

const ModuleCode* KeptOrLocal::code(ModuleId module, std::span<const std::uint64_t> addresses) {
    const auto kept = kept_.modules.find(module);
    const ModuleCode* const known = kept != kept_.modules.end() ? &kept->second : nullptr;
    const bool has_all = known != nullptr &&
                         std::all_of(addresses.begin(), addresses.end(), [&](std::uint64_t each) {
                             return known->block_at(each) != nullptr;
                         });
    const trace::Module* const place = recording_.module_of({module, 0});
    if (has_all || place == nullptr || place->kind == trace::ModuleKind::pseudo) {
        return known;
    }
    std::size_t budget = kUnbounded;
    symbolize::CodeResult read =
        symbolize::read_code(module_identity(*place, {}), addresses, budget, where_);
    if (read.code.blocks.empty()) {
        if (!read.problem.empty() && known == nullptr) {
            problems_.push_back(std::move(read.problem));
        }
        return known;
    }
    local_ = std::move(read.code);
    return &local_;
}

SourceText KeptOrLocal::text(const std::string& file, const std::vector<std::uint32_t>& lines) {
    Result<SourceText> found = find_text(file, lines);
    if (found) {
        return std::move(*found);
    }
    problems_.push_back(found.error().message() + ": its lines are shown without their text");
    SourceText none;
    none.file = file;
    return none;
}

bool KeptOrLocal::has_text(const std::string& file, std::uint32_t line) {
    const Result<SourceText> found = find_text(file, {line});
    return found && line_of(*found, line) != nullptr;
}

Result<SourceText> KeptOrLocal::find_text(const std::string& file,
                                          const std::vector<std::uint32_t>& lines) const {
    const auto kept = std::find_if(kept_.sources.begin(), kept_.sources.end(),
                                   [&](const SourceText& text) { return text.file == file; });
    const SourceText* const known = kept != kept_.sources.end() ? &*kept : nullptr;
    if (known != nullptr && std::all_of(lines.begin(), lines.end(), [known](std::uint32_t line) {
            return line_of(*known, line) != nullptr;
        })) {
        return *known;
    }
    std::time_t newest = 0;
    for (const trace::Module& module : recording_.modules()) {
        newest = std::max(newest, symbolize::time_of_file(module.path));
    }
    std::size_t budget = kUnbounded;
    auto read =
        symbolize::read_source({file, {lines.begin(), lines.end()}, kContextLines, newest}, budget);
    if (!read && known != nullptr) {
        return *known;
    }
    return read;
}

}  // namespace sample::analysis
