#include "cli/top/top_state.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace sample::cli {
namespace {

constexpr char kControlC = 0x03;
constexpr char kControlD = 0x04;
constexpr char kControlU = 0x15;
constexpr char kControlZ = 0x1a;
constexpr char kEscape = 0x1b;
constexpr char kDelete = 0x7f;

/// What stands behind the escape character and '[' or 'O'.
struct Sequence {
    std::string_view bytes;
    Key::Kind kind;
};
constexpr Sequence kSequences[] = {
    {"A", Key::Kind::up},       {"B", Key::Kind::down},       {"H", Key::Kind::home},
    {"F", Key::Kind::end},      {"1~", Key::Kind::home},      {"4~", Key::Kind::end},
    {"5~", Key::Kind::page_up}, {"6~", Key::Kind::page_down},
};

/// The bytes of the sequence that `bytes` begins with, behind its '[': up to its last letter or
/// '~'. Source: ECMA-48, 5.4.
std::string_view sequence_in(std::string_view bytes) {
    const auto is_last = [](char byte) { return byte >= 0x40 && byte <= 0x7e; };
    const auto* const last = std::find_if(bytes.begin(), bytes.end(), is_last);
    return bytes.substr(
        0, static_cast<std::size_t>(last - bytes.begin()) + (last == bytes.end() ? 0 : 1));
}

void remove_character(std::string& text) {
    const auto is_continuation = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
    };
    while (!text.empty() && is_continuation(text.back())) {
        text.pop_back();
    }
    if (!text.empty()) {
        text.pop_back();
    }
}

std::string& answer_of(TopState& state) {
    return state.prompt == Prompt::search  ? state.search
           : state.prompt == Prompt::focus ? state.focus
                                           : state.thread;
}

void open(TopState& state, Prompt prompt) {
    state.prompt = prompt;
    state.typed = answer_of(state);
}

void press_in_prompt(TopState& state, const Key& key) {
    constexpr std::size_t kMostTyped = 200;
    if (key.kind == Key::Kind::escape) {
        state.prompt = Prompt::none;
        return;
    }
    if (key.kind != Key::Kind::character) {
        return;
    }
    switch (key.character) {
        case '\r':
        case '\n':
            answer_of(state) = std::exchange(state.typed, {});
            state.prompt = Prompt::none;
            state.first_row = 0;
            break;
        case '\b':
        case kDelete:
            remove_character(state.typed);
            break;
        case kControlU:
            state.typed.clear();
            break;
        default:
            if (static_cast<unsigned char>(key.character) >= ' ' &&
                state.typed.size() < kMostTyped) {
                state.typed += key.character;
            }
    }
}

void scroll(TopState& state, Key::Kind kind, std::size_t page_rows) {
    const std::size_t step =
        kind == Key::Kind::page_up || kind == Key::Kind::page_down ? page_rows : 1;
    if (kind == Key::Kind::home) {
        state.first_row = 0;
    } else if (kind == Key::Kind::end) {
        state.first_row = SIZE_MAX;  // The page knows how many there are.
    } else if (kind == Key::Kind::up || kind == Key::Kind::page_up) {
        state.first_row -= std::min(state.first_row, step);
    } else if (state.first_row < SIZE_MAX - step) {
        state.first_row += step;
    }
}

SortKey next(SortKey key) {
    switch (key) {
        case SortKey::self:
            return SortKey::total;
        case SortKey::total:
            return SortKey::samples;
        case SortKey::samples:
            return SortKey::name;
        default:
            return SortKey::self;
    }
}

std::optional<std::uint64_t> next_average(std::optional<std::uint64_t> seconds) {
    constexpr std::array<std::uint64_t, 4> kAverages{1, 60, 300, 600};
    if (!seconds) {
        return kAverages.front();
    }
    const auto* const above = std::upper_bound(kAverages.begin(), kAverages.end(), *seconds);
    return above == kAverages.end() ? std::nullopt : std::optional{*above};
}

/// What the letter asks for; false: nothing that changes the list.
bool choose(TopState& state, char letter) {
    switch (letter) {
        case 'v':
            state.view = state.view == TopView::functions ? TopView::callgraph : TopView::functions;
            return true;
        case 's':
            state.sort = next(state.sort);
            return true;
        case 'w':
            state.only_last_seconds = !state.only_last_seconds;
            return true;
        case 'p':
            state.hide_plugins = !state.hide_plugins;
            return true;
        case 'm':
            state.hide_memory = !state.hide_memory;
            return true;
        case 'r':
            state.search.clear();
            state.focus.clear();
            state.thread.clear();
            state.hide_plugins = state.hide_memory = false;
            state.average_s.reset();
            return true;
        default:
            return false;
    }
}

struct PromptKey {
    char letter;
    Prompt prompt;
};
constexpr PromptKey kPromptKeys[] = {
    {'/', Prompt::search}, {'f', Prompt::focus}, {'t', Prompt::thread}};

struct ScrollKey {
    char letter;
    Key::Kind kind;
};
constexpr ScrollKey kScrollKeys[] = {
    {'j', Key::Kind::down}, {'k', Key::Kind::up}, {'g', Key::Kind::home}, {'G', Key::Kind::end}};

/// The entry of `keys` with this letter; nullptr: none.
template <class Entry, std::size_t kCount>
const Entry* find_key(const Entry (&keys)[kCount], char letter) {
    const auto* const found = std::find_if(std::begin(keys), std::end(keys),
                                           [&](const Entry& key) { return key.letter == letter; });
    return found == std::end(keys) ? nullptr : found;
}

void press_letter(TopState& state, char letter, std::size_t page_rows) {
    if (const auto* const opens = find_key(kPromptKeys, letter)) {
        open(state, opens->prompt);
        return;
    }
    if (const auto* const scrolls = find_key(kScrollKeys, letter)) {
        scroll(state, scrolls->kind, page_rows);
        return;
    }
    switch (letter) {
        case 'q':
        case kControlD:
            state.is_over = true;
            break;
        case '?':
        case 'h':
            state.shows_help = true;
            break;
        case ' ':
            state.is_frozen = !state.is_frozen;
            break;
        case 'u':
            state.unit = state.unit == Unit::weight ? Unit::percent : Unit::weight;
            break;
        case 'a':
            state.average_s = next_average(state.average_s);
            break;
        default:
            if (choose(state, letter)) {
                state.first_row = 0;
            }
    }
}

}  // namespace

std::vector<Key> keys_of(std::string_view bytes) {
    std::vector<Key> keys;
    while (!bytes.empty()) {
        const char first = bytes.front();
        const bool is_sequence =
            first == kEscape && bytes.size() > 2 && (bytes[1] == '[' || bytes[1] == 'O');
        if (is_sequence) {
            const std::string_view sequence = sequence_in(bytes.substr(2));
            const auto* const known =
                std::find_if(std::begin(kSequences), std::end(kSequences),
                             [&](const Sequence& each) { return each.bytes == sequence; });
            keys.push_back({known == std::end(kSequences) ? Key::Kind::other : known->kind, 0});
            bytes.remove_prefix(2 + sequence.size());
            continue;
        }
        keys.push_back(first == kEscape ? Key{Key::Kind::escape, 0}
                                        : Key{Key::Kind::character, first});
        bytes.remove_prefix(1);
    }
    return keys;
}

void press(TopState& state, const Key& key, std::size_t page_rows) {
    const bool is_character = key.kind == Key::Kind::character;
    if (is_character && (key.character == kControlC || key.character == kControlZ)) {
        (key.character == kControlC ? state.is_over : state.suspends) = true;
    } else if (state.prompt != Prompt::none) {
        press_in_prompt(state, key);
    } else if (state.shows_help) {
        state.shows_help = false;
    } else if (is_character) {
        press_letter(state, key.character, page_rows);
    } else if (key.kind != Key::Kind::escape && key.kind != Key::Kind::other) {
        scroll(state, key.kind, page_rows);
    }
}

std::vector<std::string_view> help_of_keys() {
    return {
        "v          functions, or the callgraph",
        "s          sort functions by self, total, samples, name",
        "w          the last 10 seconds, or all since the start",
        "/          search: only what leads to a name with this text",
        "f          focus: only what this function calls",
        "t          thread: by id, name, or group (\"worker\")",
        "p  m       hide plug-ins; hide memory management",
        "a          average: as of 1 s, 1 min, 5 min, 10 min, or off",
        "u          milliseconds, or per cent",
        "r          reset search, focus, thread, what is hidden, average",
        "space      freeze, or go on",
        "j k arrows scroll; Page Up, Page Down, g, G",
        "q          end",
    };
}

}  // namespace sample::cli
