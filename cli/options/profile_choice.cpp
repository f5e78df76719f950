#include "cli/options/profile_choice.h"

#include "cli/options/option_words.h"

namespace sample::cli {
namespace {

constexpr Words<callgraph::CategoryBy, 3> kCategories = {
    {{"process", callgraph::CategoryBy::process},
     {"thread", callgraph::CategoryBy::thread},
     {"module", callgraph::CategoryBy::module}}};
constexpr Words<std::uint64_t, 4> kAverages = {{{"1s", 1}, {"1m", 60}, {"5m", 300}, {"10m", 600}}};
enum class Hidden : std::uint8_t { gc, plugins };
constexpr Words<Hidden, 2> kHidden = {{{"gc", Hidden::gc}, {"plugins", Hidden::plugins}}};

enum class Folded : std::uint8_t { inlined, parts };
constexpr Words<Folded, 2> kFolded = {{{"inlined", Folded::inlined}, {"parts", Folded::parts}}};
constexpr Words<symbolize::NameForm, 3> kNames = {{{"full", symbolize::NameForm::full},
                                                   {"noargs", symbolize::NameForm::no_arguments},
                                                   {"short", symbolize::NameForm::brief}}};

/// Hands each word of comma-separated lists to `take`.
template <class Word, std::size_t kCount, class Take>
Result<void> read_lists(std::string_view option, const std::vector<std::string>& lists,
                        const Words<Word, kCount>& words, const Take& take) {
    for (std::string_view list : lists) {
        while (true) {
            const std::size_t comma = list.find(',');
            const Result<Word> word = parse_word(option, list.substr(0, comma), words);
            if (!word) {
                return Unexpected{word.error()};
            }
            take(*word);
            if (comma == std::string_view::npos) {
                break;
            }
            list.remove_prefix(comma + 1);
        }
    }
    return {};
}

}  // namespace

void add_debug_folders(OptionParser& parser, std::vector<std::string>& folders) {
    parser.values("--debug-dir", "DIR", folders,
                  "Look for debug files in DIR, too, as in /usr/lib/debug\n"
                  "(repeatable)");
}

Result<std::optional<symbolize::NameForm>> read_names(const std::string& typed) {
    if (typed.empty()) {
        return std::optional<symbolize::NameForm>{};
    }
    const Result<symbolize::NameForm> names = parse_word("--names", typed, kNames);
    if (!names) {
        return Unexpected{names.error()};
    }
    return std::optional{*names};
}

void add_naming(OptionParser& parser, TypedNaming& typed) {
    parser.flag("--resymbolize", typed.resymbolize,
                "Names from this machine's files, not from the recording");
    parser.flag("--cache,!--no-cache", typed.use_cache,
                "Names that were found before are used, and kept (default),\n"
                "or not");
    add_debug_folders(parser, typed.debug_folders);
}

void add_choice(OptionParser& parser, TypedChoice& typed) {
    parser.value("--focus", "NAME", typed.focus, "Only this function and what it calls");
    parser.value("--search", "TEXT", typed.search, "Only what leads to or from names with TEXT");
    parser.value("--average", "TIME", typed.average,
                 "Durations as in an average 1s, 1m, 5m or 10m");
    parser.values("--hide", "WHAT", typed.hide,
                  "Take gc (memory management) or plugins out of\n"
                  "all durations, or both: gc,plugins");
    parser.values("--fold", "WHAT", typed.fold,
                  "inlined: inlined calls become their callers' own\n"
                  "time; parts: parts (f.cold, f.part.0) and copies\n"
                  "(f.constprop.0) become one with their function;\n"
                  "or both: inlined,parts");
    parser.value("--names", "FORM", typed.names,
                 "full (default), noargs, or short (no template\n"
                 "arguments either); what becomes equal is one");
    parser.value("--category", "KIND", typed.category,
                 "Top level: thread (default: those named alike but\n"
                 "for a number as one), process or module");
    add_naming(parser, typed.naming);
    add_from(parser, typed.from);
}

void add_from(OptionParser& parser, std::string& format) {
    parser.value(
        "--from", "FORMAT", format,
        "What a foreign file is, if its content does not tell:\n" + imports::format_names());
}

Result<std::optional<imports::Format>> read_from(const std::string& format) {
    if (format.empty()) {
        return std::optional<imports::Format>{};
    }
    const Result<imports::Format> found = imports::find_format(format);
    if (!found) {
        return Unexpected{found.error()};
    }
    return std::optional{*found};
}

Result<analysis::ProfileChoice> read_choice(const TypedChoice& typed) {
    analysis::ProfileChoice choice;
    choice.focus = typed.focus;
    choice.search = typed.search;
    choice.resymbolize = typed.naming.resymbolize;
    choice.use_cache = typed.naming.use_cache;
    choice.by_line = typed.by_line;
    choice.debug_folders = typed.naming.debug_folders;
    const Result<std::optional<imports::Format>> from = read_from(typed.from);
    if (!from) {
        return Unexpected{from.error()};
    }
    choice.from = *from;
    const Result<void> hidden = read_lists("--hide", typed.hide, kHidden, [&choice](Hidden what) {
        (what == Hidden::gc ? choice.hide_gc : choice.hide_plugins) = true;
    });
    if (!hidden) {
        return Unexpected{hidden.error()};
    }
    const Result<void> folded = read_lists("--fold", typed.fold, kFolded, [&choice](Folded what) {
        (what == Folded::inlined ? choice.fold_inlined : choice.fold_parts) = true;
    });
    if (!folded) {
        return Unexpected{folded.error()};
    }
    const Result<std::optional<symbolize::NameForm>> names = read_names(typed.names);
    if (!names) {
        return Unexpected{names.error()};
    }
    choice.names = names->value_or(symbolize::NameForm::full);
    if (!typed.average.empty()) {
        const Result<std::uint64_t> seconds = parse_word("--average", typed.average, kAverages);
        if (!seconds) {
            return Unexpected{seconds.error()};
        }
        choice.average_s = *seconds;
    }
    if (!typed.category.empty()) {
        const Result<callgraph::CategoryBy> kind =
            parse_word("--category", typed.category, kCategories);
        if (!kind) {
            return Unexpected{kind.error()};
        }
        choice.category = *kind;
    }
    return choice;
}

Result<std::string> single_file(const std::string& verb, const std::vector<std::string>& files) {
    if (files.empty()) {
        return unexpected(ErrorCode::invalid_argument,
                          "no file to read: write sample " + verb + " [OPTIONS] FILE");
    }
    if (files.size() > 1) {
        return unexpected(ErrorCode::invalid_argument, "one file at a time: '" + files[0] +
                                                           "' and '" + files[1] +
                                                           "' cannot be read together");
    }
    return files.front();
}

}  // namespace sample::cli
