// What one debugging entry says of itself.
//
// A function may have several entries: its declaration in a class, its abstract origin (what is
// common to all inlined copies, in link-time optimised programs in another unit), and those of the
// copies. They refer to each other; what one leaves out stands in the next.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sample::symbolize {

/// Whether an entry of that kind is a class, in the widest sense: a type that has members.
[[nodiscard]] bool is_class(int tag);

/// The texts live as long as the debug information they were read from.
struct SourcePlace {
    std::string_view file;    ///< As the compiler wrote it; empty if unknown.
    std::string_view folder;  ///< Where the compiler ran, if `file` is relative to it.
    std::uint32_t line = 0;   ///< 0 if unknown.

    [[nodiscard]] std::string path() const;
};

/// A file of the unit `cu`, by its name in the line table; nullptr is none.
[[nodiscard]] SourcePlace place_in(Dwarf_CU* cu, const char* file, std::uint32_t line);

/// The entry that DW_AT_abstract_origin leads to in the end; `die` itself if to none. Ends also
/// where the references go in a circle.
[[nodiscard]] Dwarf_Die origin_of(Dwarf_Die die);

/// A text of the entry, or of one that it refers to; above all what it calls itself. Lives as long
/// as the debug information.
[[nodiscard]] std::string_view text_at(Dwarf_Die die, unsigned name);
[[nodiscard]] std::string_view linkage_name_of(Dwarf_Die die);
[[nodiscard]] std::string_view plain_name_of(Dwarf_Die die);

/// Where a function is declared, or rather defined, if the compiler told the two apart.
[[nodiscard]] SourcePlace declaration_of(Dwarf_Die die);
/// Where an inlined call stands.
[[nodiscard]] SourcePlace call_of(Dwarf_Die die);

/// The entry that the attribute `name` of `die` itself refers to.
[[nodiscard]] std::optional<Dwarf_Die> entry_at(Dwarf_Die die, unsigned name);

[[nodiscard]] bool has_flag(Dwarf_Die die, unsigned name);
[[nodiscard]] std::optional<std::uint64_t> number_at(Dwarf_Die die, unsigned name);

}  // namespace sample::symbolize
