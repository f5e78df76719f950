// One verb's options: each is declared once, with its help and with what is made of its value.
//
// A thin face over CLI11, so that its exceptions and its compile time stay in one file.
#pragma once

#include "cli/views/terminal.h"
#include "core/result.h"

#include <functional>
#include <memory>
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

/// Takes the value that was typed for an option ("--freq"). Errors say what is allowed.
using Read = std::function<Result<void>(const std::string& option, const std::string& text)>;

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
    /// "--children,!--no-children": the second name turns it off.
    void flag(const std::string& names, bool& target, const std::string& help);
    /// Words that are no options.
    void positional(const std::string& name, std::vector<std::string>& target,
                    const std::string& help);
    /// Everything from the first word that is no option, or behind "--", taken as it stands.
    void command(std::vector<std::string>& target) { command_ = &target; }
    void check(std::function<Result<void>()> check) { checks_.push_back(std::move(check)); }
    /// Instead of going on, `text` is to be printed: an option asks for it.
    void answer(std::string text) { answer_ = std::move(text); }

    /// What is to be printed (--help), instead of going on; else empty.
    /// Errors: invalid_argument, with what is wrong.
    [[nodiscard]] Result<std::string> parse(const std::vector<std::string>& arguments);

private:
    void read(const Read& how, const std::string& option, const std::string& text);

    std::unique_ptr<CLI::App> app_;
    std::vector<std::string>* command_ = nullptr;
    std::vector<std::function<Result<void>()>> checks_;
    Result<void> problem_;  ///< The first one.
    std::string answer_;
};

/// The first part of what is said of a word that is not known: of the option, and the word.
inline constexpr std::string_view kCannotBe = "{} cannot be '{}'";

/// Says so, and lists the words that are.
[[nodiscard]] Unexpected no_such_word(const std::string& option, std::string_view text,
                                      const std::vector<std::string_view>& known,
                                      std::string_view refusal);

/// The value that `text` names in `words`. Errors: invalid_argument, listing the words.
template <class T>
[[nodiscard]] Result<T> find_word(const Words<T>& words, const std::string& option,
                                  std::string_view text, std::string_view refusal = kCannotBe) {
    std::vector<std::string_view> known;
    for (const auto& [word, value] : words) {
        if (word == text) {
            return value;
        }
        known.push_back(word);
    }
    return no_such_word(option, text, known, refusal);
}

/// Reads one of `words`.
template <class Target, class T>
[[nodiscard]] Read one_of(Target& target, Words<T> words, std::string_view refusal = kCannotBe) {
    return [&target, words = std::move(words), refusal](const std::string& option,
                                                        const std::string& text) -> Result<void> {
        SAMPLE_TRY(value, find_word(words, option, text, refusal));
        target = value;
        return {};
    };
}

/// Reads whatever was typed.
[[nodiscard]] Read into(std::string& target);
[[nodiscard]] Read into(std::vector<std::string>& target);

/// Takes an empty word, as of a script's variable that is not set, for none.
[[nodiscard]] Read unless_empty(Read read);

}  // namespace sample::cli
