#include "cli/options/option_parser.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <span>
#include <utility>

namespace sample::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
public:
    explicit HelpFormatter(std::string usage) : usage_{std::move(usage)} {
        constexpr std::size_t kColumn = 32;
        column_width(kColumn);
    }

    std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
        return "Usage: sample " + usage_ + "\n";
    }

    /// "-f, --freq HZ", "--children, --no-children" and "--live[=PORT]" for CLI11's "-f,--freq HZ",
    /// "--children,--no-children{false}" and "--live{0} [=PORT]".
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name;
        for (const char c : CLI::Formatter::make_option_name(option, is_positional)) {
            name += c;
            name += c == ',' ? " " : "";
        }
        return name.substr(0, name.find('{'));
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string placeholder = option->get_type_name();
        return placeholder.empty() || placeholder.front() == '[' ? placeholder : " " + placeholder;
    }

private:
    std::string usage_;
};

/// CLI11 takes "[kernel, caller unseen]" for a list of two words. What begins so is handed to it
/// behind this.
constexpr char kOneWord = '\x01';

/// From the back, and with marks.
std::vector<std::string> as_cli11_takes_them(std::span<const std::string> arguments) {
    std::vector<std::string> words{arguments.rbegin(), arguments.rend()};
    for (std::string& word : words) {
        word.insert(0, word.starts_with('[') ? 1 : 0, kOneWord);
    }
    return words;
}

std::string as_typed(const std::string& word) {
    return word.starts_with(kOneWord) ? word.substr(1) : word;
}

bool takes_value(const CLI::App& app, const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_max() > 0;
}

/// Words that the option at the front of the line takes up: 1, or 2 with a value of its own word.
std::size_t words_of_option(const CLI::App& app, const std::string& word) {
    if (word.starts_with("--")) {
        return word.find('=') == std::string::npos && takes_value(app, word) ? 2 : 1;
    }
    // Short options may share a word; the first that takes a value takes the rest of it.
    for (std::size_t i = 1; i < word.size(); ++i) {
        if (takes_value(app, std::string{'-', word[i]})) {
            return i + 1 == word.size() ? 2 : 1;
        }
    }
    return 1;
}

/// Where the user's command begins; `words` where there is none. A "--" before it is counted in
/// `separator`.
std::size_t find_command(const CLI::App& app, const std::vector<std::string>& words,
                         bool& separator) {
    std::size_t at = 0;
    while (at < words.size()) {
        separator = words[at] == "--";
        if (separator || words[at].size() < 2 || words[at][0] != '-') {
            return at;
        }
        at += words_of_option(app, words[at]);
    }
    return words.size();
}

std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

/// "--freq" of "-f,--freq".
std::string long_name(const std::string& names) {
    return names.substr(names.find("--"));
}

}  // namespace

OptionParser::OptionParser() : app_{std::make_unique<CLI::App>()} {
    app_->set_help_flag("-h,--help", "Print this and exit");
}
OptionParser::~OptionParser() = default;

void OptionParser::describe(const std::string& usage, const std::string& description,
                            const std::string& footer) {
    app_->description(description);
    app_->footer(footer);
    app_->formatter(std::make_shared<HelpFormatter>(usage));
}

void OptionParser::read(const Read& how, const std::string& option, const std::string& text) {
    if (problem_) {
        problem_ = how.take(option, as_typed(text));
    }
}

void OptionParser::value(const std::string& names, const std::string& placeholder, Read how,
                         const std::string& help) {
    values_[long_name(names)] = how.words;
    const auto take = [this, how = std::move(how), option = long_name(names)](
                          const std::string& text) { read(how, option, text); };
    app_->add_option_function<std::string>(names, take, help)->take_last()->type_name(placeholder);
}

void OptionParser::values(const std::string& names, const std::string& placeholder, Read how,
                          const std::string& help) {
    values_[long_name(names)] = how.words;
    const auto take = [this, how = std::move(how),
                       option = long_name(names)](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            read(how, option, text);
        }
    };
    app_->add_option_function<std::vector<std::string>>(names, take, help)
        ->allow_extra_args(false)
        ->type_name(placeholder);
}

void OptionParser::joined_value(const std::string& name, const std::string& placeholder,
                                const std::string& otherwise, Read how, const std::string& help) {
    const auto take = [this, how = std::move(how), name](const std::string& text) {
        read(how, name, text);
    };
    app_->add_flag(name + "{" + otherwise + "}", joined_.emplace_back(), help)
        ->take_last()
        ->each(take)
        ->type_name("[=" + placeholder + "]");
}

void OptionParser::pair(const std::string& name, const std::string& placeholder,
                        std::optional<std::pair<std::string, std::string>>& target,
                        const std::string& help) {
    values_[name] = "";
    const auto take = [&target](const std::vector<std::string>& words) {
        target.emplace(as_typed(words[words.size() - 2]), as_typed(words.back()));
    };
    app_->add_option_function<std::vector<std::string>>(name, take, help)
        ->type_size(2)
        ->allow_extra_args(false)
        ->type_name(placeholder);
}

void OptionParser::flag(const std::string& names, bool& target, const std::string& help) {
    app_->add_flag(names, target, help)->take_last();
}

void OptionParser::asks(const std::string& name, std::string text, const std::string& help) {
    app_->add_flag_callback(
        name, [this, text = std::move(text)] { answer(text); }, help);
}

void OptionParser::positional(const std::string& name, std::vector<std::string>& target,
                              const std::string& help) {
    const auto take = [&target](const std::vector<std::string>& words) {
        std::transform(words.begin(), words.end(), std::back_inserter(target), as_typed);
    };
    app_->add_option_function<std::vector<std::string>>(name, take, help)->type_name("");
}

Result<std::string> OptionParser::parse(const std::vector<std::string>& arguments) {
    try {
        std::size_t end = arguments.size();
        if (command_ != nullptr) {
            bool separator = false;
            end = std::min(find_command(*app_, arguments, separator), arguments.size());
            const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(end);
            command_->assign(first + (separator && end < arguments.size() ? 1 : 0),
                             arguments.end());
        }
        if (separated_ != nullptr) {
            const auto separator = std::find(arguments.begin(), arguments.end(), "--");
            end = static_cast<std::size_t>(separator - arguments.begin());
            separated_->assign(separator == arguments.end() ? separator : separator + 1,
                               arguments.end());
        }
        app_->parse(as_cli11_takes_them({arguments.data(), end}));
    } catch (const CLI::CallForHelp&) {
        return app_->help();
    } catch (const std::exception& error) {
        return unexpected(ErrorCode::invalid_argument, one_line(error.what()));
    }
    if (!answer_.empty()) {
        return answer_;
    }
    SAMPLE_CHECK(problem_);
    for (const auto& check : checks_) {
        SAMPLE_CHECK(check());
    }
    return std::string{};
}

void Suggestions::add(std::string_view typed, std::string_view word, std::string_view help) {
    if (word.starts_with(typed)) {
        lines.append(word).append("\t").append(help.substr(0, help.find('\n'))).append("\n");
    }
}

void Suggestions::add_values(std::string_view typed, const std::string& in_front,
                             std::string_view values) {
    while (!values.empty()) {
        const std::size_t end = std::min(values.find(", "), values.size());
        add(typed, in_front + std::string{values.substr(0, end)});
        values.remove_prefix(std::min(end + 2, values.size()));
    }
}

Suggestions OptionParser::suggest(const std::vector<std::string>& words) const {
    Suggestions result;
    const std::string& typed = words.back();
    const std::vector<std::string> before{words.begin(), words.end() - 1};
    if (command_ != nullptr) {
        bool separator = false;
        const std::size_t begin = find_command(*app_, before, separator);
        if (begin < before.size()) {
            result.command = begin + (separator ? 1 : 0);
            return result;
        }
    }
    // "--view c" or "--view=c".
    const std::size_t equals = typed.starts_with("--") ? typed.find('=') : std::string::npos;
    const bool is_joined = equals != std::string::npos;
    const std::string asked = is_joined        ? typed.substr(0, equals)
                              : before.empty() ? std::string{}
                                               : before.back();
    if (takes_value(*app_, asked)) {
        const std::string in_front = is_joined ? asked + "=" : std::string{};
        const CLI::Option* const option = app_->get_option(asked);
        result.add_values(typed, in_front, values_.at("--" + option->get_lnames().front()));
    } else if (typed.starts_with('-')) {
        for (const CLI::Option* const option : app_->get_options()) {
            for (const std::string& name : option->get_lnames()) {
                result.add(typed, "--" + name, option->get_description());
            }
        }
    } else if (command_ != nullptr) {
        result.command = before.size();
    }
    return result;
}

Unexpected no_such_word(const std::string& option, std::string_view text, const std::string& known,
                        std::string_view refusal) {
    return unexpected(
        ErrorCode::invalid_argument,
        fmt::format(fmt::runtime(refusal), option, text) + ": choose one of " + known);
}

Read into(std::string& target) {
    return {[&target](const std::string& /*option*/, const std::string& text) -> Result<void> {
        target = text;
        return {};
    }};
}

Read into(std::vector<std::string>& target) {
    return {[&target](const std::string& /*option*/, const std::string& text) -> Result<void> {
        target.push_back(text);
        return {};
    }};
}

Read unless_empty(Read read) {
    read.take = [take = read.take](const std::string& option, const std::string& text) {
        return text.empty() ? Result<void>{} : take(option, text);
    };
    return read;
}

}  // namespace sample::cli
