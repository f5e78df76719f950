#include "cli/options/option_parser.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
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

    /// "-f, --freq HZ" and "--children, --no-children" for CLI11's "-f,--freq HZ" and
    /// "--children,--no-children{false}".
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name;
        for (const char c : CLI::Formatter::make_option_name(option, is_positional)) {
            name += c;
            name += c == ',' ? " " : "";
        }
        const std::size_t value = name.find("{false}");
        return value == std::string::npos ? name : name.substr(0, value);
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        return option->get_type_name().empty() ? "" : " " + option->get_type_name();
    }

private:
    std::string usage_;
};

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
        problem_ = how(option, text);
    }
}

void OptionParser::value(const std::string& names, const std::string& placeholder, Read how,
                         const std::string& help) {
    const auto take = [this, how = std::move(how), option = long_name(names)](
                          const std::string& text) { read(how, option, text); };
    app_->add_option_function<std::string>(names, take, help)->take_last()->type_name(placeholder);
}

void OptionParser::values(const std::string& names, const std::string& placeholder, Read how,
                          const std::string& help) {
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

void OptionParser::flag(const std::string& names, bool& target, const std::string& help) {
    app_->add_flag(names, target, help)->take_last();
}

void OptionParser::positional(const std::string& name, std::vector<std::string>& target,
                              const std::string& help) {
    app_->add_option(name, target, help)->type_name("");
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
        // CLI11 takes the words from the back.
        std::vector<std::string> words{arguments.rend() - static_cast<std::ptrdiff_t>(end),
                                       arguments.rend()};
        app_->parse(words);
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

Unexpected no_such_word(const std::string& option, std::string_view text,
                        const std::vector<std::string_view>& known, std::string_view refusal) {
    return unexpected(ErrorCode::invalid_argument,
                      fmt::format(fmt::runtime(refusal), option, text) +
                          fmt::format(": choose one of {}", fmt::join(known, ", ")));
}

Read into(std::string& target) {
    return [&target](const std::string& /*option*/, const std::string& text) -> Result<void> {
        target = text;
        return {};
    };
}

Read into(std::vector<std::string>& target) {
    return [&target](const std::string& /*option*/, const std::string& text) -> Result<void> {
        target.push_back(text);
        return {};
    };
}

Read unless_empty(Read read) {
    return [read = std::move(read)](const std::string& option, const std::string& text) {
        return text.empty() ? Result<void>{} : read(option, text);
    };
}

}  // namespace sample::cli
