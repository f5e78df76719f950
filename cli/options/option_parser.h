// One verb's options, declared once for parsing and for --help.
//
// A thin face over CLI11, so that its exceptions and its compile time stay in one file.
#pragma once

#include "core/result.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sample::cli {

/// What a parse came to: go on, or print this text (--help) and end with 0.
struct ParseOutcome {
    std::string help;
    [[nodiscard]] bool wants_help() const noexcept { return !help.empty(); }
};

/// Options as parsed, or the help text that was asked for instead.
template <class Options>
struct Parsed {
    Options options;
    std::string help;
};

/// Targets must outlive parse(); they keep their values where an option is not given. Of an option
/// that is given twice, the last one counts. `names` is like "-f,--freq".
class OptionParser {
public:
    /// `usage` follows "sample" in the help; `footer` ends it.
    OptionParser(std::string usage, std::string description, std::string footer);
    OptionParser(OptionParser&&) noexcept;
    OptionParser& operator=(OptionParser&&) noexcept;
    OptionParser(const OptionParser&) = delete;
    OptionParser& operator=(const OptionParser&) = delete;
    ~OptionParser();

    void value(const std::string& names, const std::string& placeholder, std::string& target,
               const std::string& help);
    /// An option that may be given several times.
    void values(const std::string& names, const std::string& placeholder,
                std::vector<std::string>& target, const std::string& help);
    /// "--children,!--no-children": the second name turns it off.
    void flag(const std::string& names, bool& target, const std::string& help);
    /// Words that are no options.
    void positional(const std::string& name, std::vector<std::string>& target,
                    const std::string& help);
    /// Everything from the first word that is no option, or behind "--", taken as it stands.
    void command(std::vector<std::string>& target);

    /// Errors: invalid_argument, with what is wrong.
    [[nodiscard]] Result<ParseOutcome> parse(const std::vector<std::string>& arguments);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Parses, and returns what `read` makes of what was typed, a Result of a verb's options; or the
/// help text that was asked for instead.
template <class Read>
[[nodiscard]] auto parse_options(OptionParser& parser, const std::vector<std::string>& arguments,
                                 const Read& read)
    -> Result<Parsed<std::remove_cvref_t<decltype(*read())>>> {
    using Options = std::remove_cvref_t<decltype(*read())>;
    Result<ParseOutcome> outcome = parser.parse(arguments);
    if (!outcome) {
        return Unexpected{outcome.error()};
    }
    if (outcome->wants_help()) {
        return Parsed<Options>{{}, std::move(outcome->help)};
    }
    Result<Options> options = read();
    if (!options) {
        return Unexpected{options.error()};
    }
    return Parsed<Options>{std::move(*options), {}};
}

}  // namespace sample::cli
