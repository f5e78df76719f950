// What `sample top` shows, and how keys change it. Knows no terminal and no recording.
#pragma once

#include "cli/views/views.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {

enum class TopView : std::uint8_t { functions, callgraph };

/// What is being typed into the last line.
enum class Prompt : std::uint8_t { none, search, focus, thread };

struct TopState {
    TopView view = TopView::functions;
    SortKey sort = SortKey::self;
    Unit unit = Unit::weight;
    bool only_last_seconds = false;
    bool hide_plugins = false;
    bool hide_memory = false;
    std::string search;
    std::string focus;
    std::string thread;
    std::optional<std::uint64_t> average_s;
    std::size_t first_row = 0;
    bool is_frozen = false;
    bool shows_help = false;
    bool is_over = false;   ///< The user has had enough.
    bool suspends = false;  ///< The shell is to get the terminal.
    Prompt prompt = Prompt::none;
    std::string typed;  ///< Into the prompt.
};

struct Key {
    enum class Kind : std::uint8_t {
        character,
        up,
        down,
        page_up,
        page_down,
        home,
        end,
        escape,
        other,  ///< One that means nothing here.
    };
    Kind kind = Kind::other;
    char character = 0;  ///< A byte of UTF-8.
};

/// What a terminal sends for keys, as one reading gives it.
[[nodiscard]] std::vector<Key> keys_of(std::string_view bytes);

/// `page_rows`: how many rows the page has for the list.
void press(TopState& state, const Key& key, std::size_t page_rows);

/// The keys, a line each.
[[nodiscard]] std::vector<std::string_view> help_of_keys();

}  // namespace sample::cli
