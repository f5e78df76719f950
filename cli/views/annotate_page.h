// The page that `sample annotate` fills: its columns of weights, what fits into a line of a
// terminal, the heading and the footer.
#pragma once

#include "analysis/annotation.h"
#include "cli/views/annotate.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sample::cli {

/// Both arguments of the constructor must outlive it.
class AnnotatePage {
public:
    AnnotatePage(const analysis::Annotation& annotation, const AnnotateViewOptions& options);

    /// The function, its weight, and the names of the columns.
    void add_heading();
    /// A line of text behind the columns, cut to what the terminal shows.
    void add_line(const std::string& cells, const std::string& text, Style style = Style::plain);
    /// The mark of lines that are left out.
    void add_gap();
    void add_text(std::string_view text) { out_ += text; }
    /// The annotation's notes.
    void add_footer();
    [[nodiscard]] std::string take() { return std::move(out_); }

    /// Total and self; nothing instead of zeros.
    [[nodiscard]] std::string weight_cells(const callgraph::KeyWeight& weight) const;
    [[nodiscard]] std::string no_cells() const { return std::string(2 * column_ + 1, ' '); }
    [[nodiscard]] std::string ellipsis() const;
    /// Where the text begins.
    [[nodiscard]] std::size_t text_column() const { return 2 * column_ + 2; }

private:
    [[nodiscard]] std::string cell(std::uint64_t ns) const;
    [[nodiscard]] std::string unit_name() const;
    [[nodiscard]] std::size_t column_width() const;
    /// `text` in what the columns leave of the line.
    [[nodiscard]] std::string fitted(const std::string& text) const;

    const analysis::Annotation& annotation_;
    const AnnotateViewOptions& options_;
    std::size_t column_;
    std::string out_;
};

}  // namespace sample::cli
