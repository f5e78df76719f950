// Names for people: a readable name in the form that its reader asked for.
//
// Text in, text out, so it works on names of any origin: of a symbol, of DWARF, of an imported
// profile. docs/symbolization.md, "Names for people", has the rules and an example of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::symbolize {

enum class NameForm : std::uint8_t {
    full,          ///< As it stands.
    no_arguments,  ///< Without argument lists, what follows them, and return types.
    brief,  ///< And with template arguments as ‹…›, std:: without what its versions add.
};

/// A name that is not of C++, Rust or D, does not parse, or is longer than 64 KiB is returned as it
/// stands; so are "module+0x…", "[pseudo]" functions and Objective-C's methods. "@plt",
/// " [clone .cold]" and " [guessed]" stay. O(size), and at most six times as long as `name`.
/// Never fails. Thread-safe.
[[nodiscard]] std::string in_form(std::string_view name, NameForm form);

}  // namespace sample::symbolize
