// A function's source lines and instructions as text.
#include "cli/views/annotate.h"

#include "callgraph/label.h"
#include "cli/views/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

constexpr std::size_t kCodeIndent = 5;  ///< Of instructions without a source line.
constexpr std::size_t kContext = 2;  ///< Lines or instructions shown around one that was sampled.

/// Which of a row of things are shown: those that were sampled, and their neighbours.
std::vector<bool> shown_of(const std::vector<bool>& sampled, bool all) {
    std::vector<bool> shown(sampled.size(), all);
    for (std::size_t i = 0; i < sampled.size() && !all; ++i) {
        if (sampled[i]) {
            const std::size_t first = i > kContext ? i - kContext : 0;
            const std::size_t end = std::min(i + kContext + 1, sampled.size());
            std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first),
                      shown.begin() + static_cast<std::ptrdiff_t>(end), true);
        }
    }
    return shown;
}

/// A line of a file that is to be shown, maybe one that the function has no code for.
struct SourceLine {
    std::uint32_t number = 0;
    std::optional<std::string> text;
    std::optional<std::size_t> index;  ///< Into Annotation::lines.
};

/// The columns of weights, what fits into a line of the terminal, the heading and the footer. Both
/// arguments of the constructor must outlive it.
class AnnotatePage {
public:
    AnnotatePage(const analysis::Annotation& annotation, const AnnotateViewOptions& options)
        : annotation_{annotation},
          options_{options},
          measure_{annotation.unit, annotation.weight.total, options.unit, 1.0, 2} {
        constexpr std::size_t kLeastColumn = 10;
        column_ = std::max({kLeastColumn, display_width(measure_.cell(measure_.whole)),
                            display_width(measure_.heading("total", options.terminal))});
    }

    /// The function, its weight, and the names of the columns.
    void add_heading() {
        const callgraph::Function& function = annotation_.function;
        std::string place = location_text(function.source, function.line, false);
        place = place.empty() ? "" : "  " + place;
        if (!annotation_.module.empty() && annotation_.module != function.source) {
            place += "  [" + printable(annotation_.module) + "]";
        }
        constexpr std::size_t kLeastName = 30;
        const std::string name =
            shorten_name(printable(callgraph::label(function)),
                         room_beside(display_width(place), options_.terminal.width, kLeastName),
                         options_.terminal);
        const callgraph::KeyWeight& weight = annotation_.weight;
        const std::string columns =
            pad_left(measure_.heading("total", options_.terminal), column_) + " " +
            pad_left(measure_.heading("self", options_.terminal), column_);
        out_ += fmt::format(
            "{}{}\nself {}, total {}, {}\n\n{}\n", styled(options_.terminal, Style::bold, name),
            place, measure_.text(weight.self), measure_.text(weight.total),
            counted(weight.samples, "sample"), styled(options_.terminal, Style::bold, columns));
    }

    /// A line of text behind total and self (nothing instead of zeros), cut to what the terminal
    /// shows.
    void add_line(std::optional<callgraph::KeyWeight> weight, const std::string& text,
                  Style style = Style::plain) {
        const auto [total, self] = weight ? std::pair{weight->total, weight->self}
                                          : std::pair<std::uint64_t, std::uint64_t>{};
        const auto amount = [this](std::uint64_t value) {
            return pad_left(value == 0 ? "" : measure_.cell(value), column_);
        };
        const double percent = percent_of(self, measure_.whole);
        constexpr std::size_t kLeast = 30;
        const std::size_t room = room_beside(text_column(), options_.terminal.width, kLeast);
        out_ += fmt::format(
            "{} {} {}", amount(total),
            styled(options_.terminal, weight ? heat(percent) : Style::plain, amount(self)),
            styled(options_.terminal, style, cut_end(text, room, options_.terminal)));
        while (out_.ends_with(' ')) {
            out_.pop_back();
        }
        out_ += "\n";
    }
    /// The mark of lines that are left out.
    void add_gap() { add_line({}, options_.terminal.utf8 ? "  \u22ee" : "  :", Style::dim); }
    void add_text(std::string_view text) { out_ += text; }

    /// The annotation's notes.
    std::string finish() {
        std::string footer;
        for (const std::string& note : annotation_.notes) {
            footer += wrapped("note: " + printable(note), options_.terminal) + "\n";
        }
        if (!options_.all) {
            footer +=
                "Lines without samples are left out, except near sampled ones: --all shows them.\n";
        }
        if (!footer.empty()) {
            out_ += "\n" + styled(options_.terminal, Style::dim, footer);
        }
        return std::move(out_);
    }

    /// Where the text begins.
    [[nodiscard]] std::size_t text_column() const { return 2 * column_ + 2; }

private:
    const analysis::Annotation& annotation_;
    const AnnotateViewOptions& options_;
    Measure measure_;
    std::size_t column_ = 0;
    std::string out_;
};

class AnnotateView {
public:
    AnnotateView(const analysis::Annotation& annotation, const AnnotateViewOptions& options)
        : annotation_{annotation},
          options_{options},
          page_{annotation, options},
          is_in_one_function_{annotation.code.size() == 1 &&
                              annotation.code.front().function == annotation.function.name} {
        for (const analysis::AnnotatedCode& code : annotation.code) {
            for (const analysis::AnnotatedInstruction& instruction : code.instructions) {
                at_line_[instruction.line].push_back({&code, &instruction});
            }
        }
    }

    std::string render() {
        page_.add_heading();
        const bool has_lines =
            std::any_of(annotation_.lines.begin(), annotation_.lines.end(),
                        [](const analysis::AnnotatedLine& line) { return line.line != 0; });
        if (options_.layout == AnnotationLayout::assembly || !has_lines) {
            add_assembly();
        } else {
            add_source();
        }
        return page_.finish();
    }

private:
    struct Placed {
        const analysis::AnnotatedCode* code;
        const analysis::AnnotatedInstruction* instruction;
    };

    // By source line.

    [[nodiscard]] std::map<std::uint32_t, SourceLine> lines_of(const std::string& file) const {
        std::map<std::uint32_t, SourceLine> lines;
        std::uint32_t first = ~std::uint32_t{0};
        std::uint32_t last = 0;
        for (std::size_t i = 0; i < annotation_.lines.size(); ++i) {
            const analysis::AnnotatedLine& line = annotation_.lines[i];
            if (line.file == file) {
                lines[line.line] = {line.line, std::nullopt, i};
                first = std::min(first, line.line);
                last = std::max(last, line.line);
            }
        }
        if (file == annotation_.function.source && annotation_.function.line != 0) {
            first = std::min(first, annotation_.function.line);
        }
        for (const SourceText& source : annotation_.sources) {
            if (source.file != file) {
                continue;
            }
            for (const SourcePiece& piece : source.pieces) {
                for (std::uint32_t i = 0; i < piece.lines.size(); ++i) {
                    const std::uint32_t number = piece.first_line + i;
                    if (number >= first && number <= last) {
                        lines[number].number = number;
                        lines[number].text = piece.lines[i];
                    }
                }
            }
        }
        return lines;
    }

    void add_source() {
        std::vector<std::string> files;
        for (const analysis::AnnotatedLine& line : annotation_.lines) {
            if (files.empty() || files.back() != line.file) {
                files.push_back(line.file);
            }
        }
        // The function's own file comes first.
        std::stable_partition(files.begin(), files.end(), [&](const std::string& file) {
            return file == annotation_.function.source;
        });
        for (const std::string& file : files) {
            if (file.empty()) {
                add_unknown_lines();
                continue;
            }
            if (file != annotation_.function.source) {
                page_.add_line({}, printable(file) + ":", Style::bold);
            }
            add_file(file);
        }
    }

    void add_file(const std::string& file) {
        const auto lines = lines_of(file);
        std::vector<bool> sampled;
        sampled.reserve(lines.size());
        for (const auto& [number, line] : lines) {
            sampled.push_back(weight_of(line).total != 0);
        }
        const std::vector<bool> shown = shown_of(sampled, options_.all);
        const std::size_t digits = std::to_string(lines.rbegin()->first).size();
        std::size_t i = 0;
        std::uint32_t previous = 0;
        for (const auto& [number, line] : lines) {
            // A neighbour is there to be read.
            const bool is_readable = sampled[i] || line.text || options_.all;
            if (!shown[i++] || !is_readable) {
                continue;
            }
            if (previous != 0 && number != previous + 1) {
                page_.add_gap();
            }
            previous = number;
            add_source_line(line, digits);
        }
    }

    [[nodiscard]] callgraph::KeyWeight weight_of(const SourceLine& line) const {
        return line.index ? annotation_.lines[*line.index].weight : callgraph::KeyWeight{};
    }

    void add_source_line(const SourceLine& line, std::size_t digits) {
        std::string text = pad_left(std::to_string(line.number), digits + 1) + "  ";
        if (line.text) {
            std::string tabless;
            for (const char c : *line.text) {
                tabless += c == '\t' ? std::string(4, ' ') : std::string{c};
            }
            text += printable(tabless);
        } else {
            text += "(text not known)";
        }
        page_.add_line(weight_of(line), text, line.text ? Style::plain : Style::dim);
        if (line.index && options_.layout == AnnotationLayout::interleaved) {
            add_instructions_of(*line.index, digits + 5);
        }
    }

    void add_unknown_lines() {
        for (std::size_t i = 0; i < annotation_.lines.size(); ++i) {
            if (annotation_.lines[i].line == 0 && annotation_.lines[i].weight.total != 0) {
                page_.add_line(annotation_.lines[i].weight, " (no source line)", Style::dim);
                if (options_.layout == AnnotationLayout::interleaved) {
                    add_instructions_of(i, kCodeIndent);
                }
            }
        }
    }

    void add_instructions_of(std::size_t line, std::size_t indent) {
        const auto found = at_line_.find(static_cast<std::uint32_t>(line));
        if (found == at_line_.end()) {
            return;
        }
        const analysis::AnnotatedCode* code = nullptr;
        const analysis::AnnotatedInstruction* before = nullptr;
        for (const Placed& placed : found->second) {
            if (!options_.all && placed.instruction->weight.total == 0) {
                continue;
            }
            if (code != placed.code) {
                code = placed.code;
                before = nullptr;
                if (!is_in_one_function_) {
                    add_code_heading(*code, indent);
                }
            }
            add_instruction(*placed.instruction, indent, origin_text(*placed.instruction, before));
            before = placed.instruction;
        }
    }

    void add_code_heading(const analysis::AnnotatedCode& code, std::size_t indent) {
        page_.add_line({},
                       fmt::format("{:{}}in {} [{}]:", "", indent, printable(code.function),
                                   printable(code.module)),
                       Style::dim);
    }

    /// Where the code of an instruction was inlined from: the innermost place.
    [[nodiscard]] std::string inlined_text(
        const analysis::AnnotatedInstruction& instruction) const {
        constexpr std::size_t kNameColumns = 40;
        const analysis::InlinedPlace& place = instruction.inlined.front();
        const std::size_t width = options_.terminal.width == 0 ? 0 : kNameColumns;
        const std::string name = symbolize::in_form(place.function, options_.inlined_names);
        std::string text = shorten_name(printable(name), width, options_.terminal);
        if (place.line != 0) {
            text += " " + printable(file_name(place.file)) + ":" + std::to_string(place.line);
        }
        return text;
    }

    /// The same, if it differs from the instruction before.
    [[nodiscard]] std::string origin_text(const analysis::AnnotatedInstruction& instruction,
                                          const analysis::AnnotatedInstruction* before) const {
        const bool is_same = before != nullptr ? before->inlined == instruction.inlined
                                               : instruction.inlined.empty();
        if (is_same) {
            return {};
        }
        return instruction.inlined.empty() ? "own code" : inlined_text(instruction);
    }

    /// Where on the line origins begin, so that they can be seen on a narrow terminal.
    [[nodiscard]] std::size_t origin_column(std::size_t indent) const {
        constexpr std::size_t kMost = 60;
        constexpr std::size_t kLeast = 30;
        const std::size_t width = options_.terminal.width;
        const std::size_t used = page_.text_column() + indent;
        return width == 0 ? kMost : std::clamp((std::max(width, used) - used) / 2, kLeast, kMost);
    }

    void add_instruction(const analysis::AnnotatedInstruction& instruction, std::size_t indent,
                         const std::string& origin) {
        std::string text = fmt::format("{:{}}{:x}:  {}", "", indent, instruction.address,
                                       printable(instruction.text));
        if (!origin.empty()) {
            text = pad_right(text, indent + origin_column(indent)) + "  ; " + origin;
        }
        page_.add_line(instruction.weight, text,
                       instruction.weight.total == 0 ? Style::dim : Style::plain);
    }

    // By address.

    void add_assembly() {
        for (const analysis::AnnotatedCode& code : annotation_.code) {
            add_code_heading(code, 1);
            add_block(code);
        }
        if (annotation_.code.empty()) {
            page_.add_text("no instructions: see the notes below\n");
        }
    }

    void add_block(const analysis::AnnotatedCode& code) {
        std::vector<bool> sampled;
        sampled.reserve(code.instructions.size());
        for (const analysis::AnnotatedInstruction& instruction : code.instructions) {
            sampled.push_back(instruction.weight.total != 0);
        }
        const std::vector<bool> shown = shown_of(sampled, options_.all);
        const analysis::AnnotatedInstruction* previous = nullptr;
        for (std::size_t i = 0; i < shown.size(); ++i) {
            if (!shown[i]) {
                continue;
            }
            if (i != 0 && !shown[i - 1]) {
                page_.add_gap();
            }
            const analysis::AnnotatedInstruction& instruction = code.instructions[i];
            add_instruction(instruction, 1, place_text(instruction, previous));
            previous = &instruction;
        }
    }

    [[nodiscard]] std::string place_text(const analysis::AnnotatedInstruction& instruction,
                                         const analysis::AnnotatedInstruction* before) const {
        if (before != nullptr && before->line == instruction.line &&
            before->inlined == instruction.inlined) {
            return {};
        }
        const analysis::AnnotatedLine& line = annotation_.lines[instruction.line];
        const std::string own =
            line.line == 0 ? "?"
                           : printable(file_name(line.file)) + ":" + std::to_string(line.line);
        if (instruction.inlined.empty()) {
            return line.line == 0 ? "" : own;
        }
        const bool is_deep = instruction.inlined.size() > 1;
        return fmt::format("{} < {}{}{}", inlined_text(instruction),
                           is_deep ? ellipsis(options_.terminal) : "", is_deep ? " < " : "", own);
    }

    const analysis::Annotation& annotation_;
    const AnnotateViewOptions& options_;
    AnnotatePage page_;
    bool is_in_one_function_;  ///< All its code lies in itself, in one piece.
    std::map<std::uint32_t, std::vector<Placed>> at_line_;
};

}  // namespace

std::string annotate_view(const analysis::Annotation& annotation,
                          const AnnotateViewOptions& options) {
    return AnnotateView{annotation, options}.render();
}

}  // namespace sample::cli
