// One verb's options: each is declared once, with its help and with what is made of its value.
//
// A thin face over CLI11, so that its exceptions and its compile time stay in one file.
#pragma once

#include "cli/views/terminal.h"
#include "core/result.h"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it so
class App;
}

namespace sample::cli {

/// The words that a value may be, and what they mean.
template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

struct Read {
    /// Takes the value that was typed for an option ("--freq"). Errors say what is allowed.
    std::function<Result<void>(const std::string& option, const std::string& text)> take;
    std::string words = {};  ///< What a shell may offer, as "cpu, wall"; empty: files.
};

/// What may stand in the place of a word that is being typed.
struct Suggestions {
    /// Words that begin like it, each on a line with a tab and its help. None: a file's name.
    std::string lines;
    /// Where in the words a command of the user's begins, which is none of ours.
    std::optional<std::size_t> command;

    void add(std::string_view typed, std::string_view word, std::string_view help = {});
    /// `values` are comma-separated; each stands behind `in_front` ("--view=").
    void add_values(std::string_view typed, const std::string& in_front, std::string_view values);
};

/// Targets and what readers refer to must outlive parse(); they keep their values where an option
/// is not given. Of an option that is given twice, the last one counts. `names` is like
/// "-f,--freq". Values are read in the order of declaration, then the positional words, then what
/// check() asks; the first error is the one that is told.
class OptionParser {
public:
    OptionParser();
    ~OptionParser();
    OptionParser(const OptionParser&) = delete;
    OptionParser& operator=(const OptionParser&) = delete;

    /// `usage` follows "sample" in the help; `footer` ends it.
    void describe(const std::string& usage, const std::string& description,
                  const std::string& footer);
    void value(const std::string& names, const std::string& placeholder, Read how,
               const std::string& help);
    /// An option that may be given several times; each value is read.
    void values(const std::string& names, const std::string& placeholder, Read how,
                const std::string& help);
    /// An option with a value only behind "=": "--live" or "--live=8080". Without one, `otherwise`
    /// is read.
    void joined_value(const std::string& name, const std::string& placeholder,
                      const std::string& otherwise, Read how, const std::string& help);
    /// An option with two words behind it.
    void pair(const std::string& name, const std::string& placeholder,
              std::optional<std::pair<std::string, std::string>>& target, const std::string& help);
    /// "--children,!--no-children": the second name turns it off.
    void flag(const std::string& names, bool& target, const std::string& help);
    /// An option that asks for `text`, instead of going on.
    void asks(const std::string& name, std::string text, const std::string& help);
    /// Words that are no options.
    void positional(const std::string& name, std::vector<std::string>& target,
                    const std::string& help);
    /// All words behind the first "--", taken as they stand. They are not among the positional
    /// ones.
    void separated(std::vector<std::string>& target) { separated_ = &target; }
    /// Everything from the first word that is no option, or behind "--", taken as it stands.
    void command(std::vector<std::string>& target) { command_ = &target; }
    void check(std::function<Result<void>()> check) { checks_.push_back(std::move(check)); }
    /// Instead of going on, `text` is to be printed: an option asks for it.
    void answer(std::string text) { answer_ = std::move(text); }

    /// What is to be printed (--help), instead of going on; else empty.
    /// Errors: invalid_argument, with what is wrong.
    [[nodiscard]] Result<std::string> parse(const std::vector<std::string>& arguments);

    /// For the last of `words`, which is being typed and may be empty.
    [[nodiscard]] Suggestions suggest(const std::vector<std::string>& words) const;

private:
    void read(const Read& how, const std::string& option, const std::string& text);

    std::unique_ptr<CLI::App> app_;
    std::map<std::string, std::string> values_;  ///< Read::words, by long name.
    std::list<std::string> joined_;              ///< What CLI11 keeps of them.
    std::vector<std::string>* command_ = nullptr;
    std::vector<std::string>* separated_ = nullptr;
    std::vector<std::function<Result<void>()>> checks_;
    Result<void> problem_;  ///< The first one.
    std::string answer_;
};

/// The first part of what is said of a word that is not known: of the option, and the word.
inline constexpr std::string_view kCannotBe = "{} cannot be '{}'";

/// Says so, and lists the words that are.
[[nodiscard]] Unexpected no_such_word(const std::string& option, std::string_view text,
                                      const std::string& known, std::string_view refusal);

/// "cpu, wall".
template <class T>
[[nodiscard]] std::string names_of(const Words<T>& words) {
    std::string names;
    for (const auto& [word, value] : words) {
        names.append(names.empty() ? "" : ", ").append(word);
    }
    return names;
}

/// The value that `text` names in `words`. Errors: invalid_argument, listing the words.
template <class T>
[[nodiscard]] Result<T> find_word(const Words<T>& words, const std::string& option,
                                  std::string_view text, std::string_view refusal = kCannotBe) {
    for (const auto& [word, value] : words) {
        if (word == text) {
            return value;
        }
    }
    return no_such_word(option, text, names_of(words), refusal);
}

/// Reads one of `words`.
template <class Target, class T>
[[nodiscard]] Read one_of(Target& target, const Words<T>& words,
                          std::string_view refusal = kCannotBe) {
    return {[&target, words, refusal](const std::string& option,
                                      const std::string& text) -> Result<void> {
                SAMPLE_TRY(value, find_word(words, option, text, refusal));
                target = value;
                return {};
            },
            names_of(words)};
}

/// Reads whatever was typed.
[[nodiscard]] Read into(std::string& target);
[[nodiscard]] Read into(std::vector<std::string>& target);

/// Takes an empty word, as of a script's variable that is not set, for none.
[[nodiscard]] Read unless_empty(Read read);

}  // namespace sample::cli
