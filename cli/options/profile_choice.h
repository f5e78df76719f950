// The options that say how a file becomes a Profile; report and export share them.
#pragma once

#include "analysis/load_profile.h"
#include "cli/options/option_parser.h"
#include "core/result.h"
#include "import/import.h"
#include "symbolize/names/name_forms.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

/// Where names come from: as words, and as it is meant.
struct TypedNaming {
    bool resymbolize = false;                ///< From this machine's files alone.
    bool use_cache = true;                   ///< Of the names that were found before.
    std::vector<std::string> debug_folders;  ///< Where separate debug files are, too.
};

/// A ProfileChoice as words.
struct TypedChoice {
    std::string from;
    std::string category;
    std::string names;
    std::vector<std::string> fold;
    std::vector<std::string> hide;
    std::string focus;
    std::string search;
    std::string average;
    bool by_line = false;
    TypedNaming naming;
};

/// Adds --debug-dir, which record has, too; `folders` outlives the parse.
void add_debug_folders(OptionParser& parser, std::vector<std::string>& folders);

/// What --names says; none for an empty one. Errors: invalid_argument, listing the forms.
[[nodiscard]] Result<std::optional<symbolize::NameForm>> read_names(const std::string& typed);

/// Adds --resymbolize, --cache, --no-cache and --debug-dir, which annotate has, too; `typed`
/// outlives the parse.
void add_naming(OptionParser& parser, TypedNaming& typed);

/// Adds --focus, --search, --average, --hide, --fold, --names, --category, --resymbolize,
/// --debug-dir, --no-cache and --from; `typed` outlives the parse.
void add_choice(OptionParser& parser, TypedChoice& typed);

/// Adds --from, which import has, too; `format` outlives the parse.
void add_from(OptionParser& parser, std::string& format);

/// None for an empty one. Errors: invalid_argument, listing the formats.
[[nodiscard]] Result<std::optional<imports::Format>> read_from(const std::string& format);

/// Errors: invalid_argument, listing what is allowed.
[[nodiscard]] Result<analysis::ProfileChoice> read_choice(const TypedChoice& typed);

/// The one file that a verb was given. Errors: invalid_argument for none or several.
[[nodiscard]] Result<std::string> single_file(const std::string& verb,
                                              const std::vector<std::string>& files);

}  // namespace sample::cli
