#include "cli/views/annotate_page.h"

#include "callgraph/label.h"
#include "cli/views/text.h"
#include "cli/views/view_parts.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sample::cli {
namespace {

constexpr std::size_t kLeastColumn = 10;

}  // namespace

AnnotatePage::AnnotatePage(const analysis::Annotation& annotation,
                           const AnnotateViewOptions& options)
    : annotation_{annotation}, options_{options}, column_{column_width()} {}

std::string AnnotatePage::cell(std::uint64_t ns) const {
    if (options_.unit == Unit::percent) {
        std::array<char, 32> text{};
        const int size = std::snprintf(text.data(), text.size(), "%.2f",
                                       percent_of(ns, annotation_.weight.total_ns));
        return {text.data(), static_cast<std::size_t>(size)};
    }
    return annotation_.unit.empty() ? milliseconds(ns) : grouped(ns);
}

std::string AnnotatePage::unit_name() const {
    if (options_.unit == Unit::percent) {
        return "%";
    }
    return annotation_.unit.empty() ? "ms" : printable(annotation_.unit);
}

std::size_t AnnotatePage::column_width() const {
    return std::max({kLeastColumn, display_width(cell(annotation_.weight.total_ns)),
                     display_width("total " + unit_name())});
}

std::string AnnotatePage::weight_cells(const callgraph::KeyWeight& weight) const {
    const std::string total = weight.total_ns == 0 ? "" : cell(weight.total_ns);
    const std::string self = weight.self_ns == 0 ? "" : cell(weight.self_ns);
    const double percent = percent_of(weight.self_ns, annotation_.weight.total_ns);
    return pad_left(total, column_) + " " +
           styled(options_.terminal, heat(percent), pad_left(self, column_));
}

std::string AnnotatePage::ellipsis() const {
    return options_.terminal.utf8 ? "\u2026" : "...";
}

std::string AnnotatePage::fitted(const std::string& text) const {
    const std::size_t used = text_column();
    constexpr std::size_t kLeast = 30;
    const std::size_t width = options_.terminal.width;
    if (width == 0 || display_width(text) + used <= width) {
        return text;
    }
    const std::size_t left = std::max(width, used + kLeast) - used;
    std::size_t bytes = 0;
    for (std::size_t columns = 0; columns + display_width(ellipsis()) < left; ++columns) {
        ++bytes;
        while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80U) {
            ++bytes;
        }
    }
    return text.substr(0, bytes) + ellipsis();
}

void AnnotatePage::add_line(const std::string& cells, const std::string& text, Style style) {
    out_ += cells + " " + styled(options_.terminal, style, fitted(text));
    while (out_.ends_with(' ')) {
        out_.pop_back();
    }
    out_ += "\n";
}

void AnnotatePage::add_gap() {
    add_line(no_cells(), options_.terminal.utf8 ? "  \u22ee" : "  :", Style::dim);
}

void AnnotatePage::add_heading() {
    const callgraph::Function& function = annotation_.function;
    std::string place = location_text(function, false);
    place = place.empty() ? "" : "  " + place;
    if (!annotation_.module.empty() && annotation_.module != function.source) {
        place += "  [" + printable(annotation_.module) + "]";
    }
    constexpr std::size_t kLeastName = 30;
    const std::size_t width = options_.terminal.width;
    const std::size_t beside = display_width(place);
    const std::string name = shorten_name(
        printable(callgraph::label(function)),
        width == 0 ? 0 : std::max(width, beside + kLeastName) - beside, options_.terminal);
    out_ += styled(options_.terminal, Style::bold, name) + place;
    const callgraph::KeyWeight& weight = annotation_.weight;
    const auto amount = [&](std::uint64_t ns) {
        return annotation_.unit.empty() ? short_duration(ns)
                                        : grouped(ns) + " " + printable(annotation_.unit);
    };
    out_ += "\nself " + amount(weight.self_ns) + ", total " + amount(weight.total_ns) + ", " +
            counted(weight.samples, "sample") + "\n\n";
    out_ += styled(options_.terminal, Style::bold,
                   pad_left("total " + unit_name(), column_) + " " +
                       pad_left("self " + unit_name(), column_)) +
            "\n";
}

void AnnotatePage::add_footer() {
    std::string footer;
    for (const std::string& note : annotation_.notes) {
        footer += "note: " + printable(note) + "\n";
    }
    if (!options_.all) {
        footer += "what was never sampled is left out, but for its neighbours: --all shows it\n";
    }
    if (!footer.empty()) {
        out_ += "\n" + styled(options_.terminal, Style::dim, footer);
    }
}

}  // namespace sample::cli
