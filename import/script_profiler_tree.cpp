#include "import/script_profiler_tree.h"

#include "import/json_kind.h"
#include "import/profile_maker.h"
#include "import/source_name_line.h"
#include "import/text_lines.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

constexpr std::string_view kAll = "all";
constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::uint64_t kNsPerMs = 1'000'000;

/// Receives nlohmann-json's events. Returning false stops the parser; error() says why.
class Handler {
public:
    explicit Handler(const Options& options) : maker_{options} {}

    bool null() { return scalar(); }
    bool boolean(bool /*value*/) { return scalar(); }
    bool number_integer(std::int64_t /*value*/) { return scalar(); }
    bool number_unsigned(std::uint64_t value);
    bool number_float(double /*value*/, const std::string& /*text*/) { return scalar(); }
    bool string(const std::string& /*value*/) { return scalar(); }
    bool binary(const nlohmann::json::binary_t& /*value*/) { return scalar(); }
    bool start_object(std::size_t /*size*/);
    bool key(std::string& key);
    bool end_object();
    bool start_array(std::size_t /*size*/);
    bool end_array() {
        --skipped_;
        return true;
    }
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& exception) {
        error_ = malformed_json(position, exception.what()).error;
        return false;
    }

    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] Result<callgraph::Profile> take() &&;

private:
    enum class In : std::uint8_t { node, children };

    /// An object that is read: a node, or the children of the node below it on the stack.
    struct Level {
        In in = In::node;
        std::string key;  ///< Of the field that is read.
        ProfileMaker::Place place = 0;
        std::optional<std::uint64_t> total_ns;
        std::uint64_t children_ns = 0;
        bool has_children = false;
    };

    /// A value that is no object, array or right number: fine only in an unknown field.
    bool scalar();
    bool fail(const std::string& what);
    bool enter_children();
    bool enter_child();
    bool end_node(const Level& node);
    [[nodiscard]] bool is_root() const { return levels_.size() == 1; }

    ProfileMaker maker_;
    std::vector<Level> levels_;
    std::vector<bool> is_read_;  ///< By place.
    std::size_t skipped_ = 0;    ///< How deep inside of an unknown field.
    std::uint64_t raised_ = 0;
    Error error_;
};

bool Handler::fail(const std::string& what) {
    constexpr std::size_t kNamed = 8;
    std::string place;
    std::size_t named = 0;
    for (std::size_t i = levels_.size(); i-- > 0 && named < kNamed;) {
        if (levels_[i].in == In::children) {
            place.insert(0, in_quotes(levels_[i].key) + (place.empty() ? "" : " > "));
            ++named;
        }
    }
    error_ = Error{ErrorCode::corrupt, 0, (place.empty() ? place : place + ": ") + what};
    return false;
}

bool Handler::scalar() {
    if (skipped_ != 0) {
        return true;
    }
    if (levels_.empty()) {
        return fail("the document must be an object");
    }
    const Level& level = levels_.back();
    if (level.in == In::children) {
        return fail("a child must be an object");
    }
    if (level.key == "Children") {
        return fail("Children must be an object");
    }
    return level.key != "TotalDuration" ||
           fail("TotalDuration must be a whole number from 0 to 2^64-1");
}

bool Handler::number_unsigned(std::uint64_t value) {
    if (skipped_ != 0 || levels_.empty() || levels_.back().in != In::node) {
        return scalar();
    }
    Level& level = levels_.back();
    callgraph::Profile& profile = maker_.profile();
    if (level.key == "TotalDuration") {
        std::uint64_t total_ns = 0;
        if (__builtin_mul_overflow(value, kNsPerUs, &total_ns)) {
            return fail("TotalDuration overflows 64-bit nanoseconds");
        }
        level.total_ns = total_ns;
        return true;
    }
    if (is_root() && level.key == "SessionStartTime") {
        profile.start_unix_ms = value;
        return true;
    }
    if (is_root() && level.key == "SessionEndTime") {
        profile.end_unix_ms = value;
        return true;
    }
    return scalar();
}

bool Handler::start_object(std::size_t /*size*/) {
    if (skipped_ != 0) {
        ++skipped_;
        return true;
    }
    if (levels_.empty()) {
        levels_.emplace_back().place = maker_.category(kAll);
        return true;
    }
    if (levels_.back().in == In::children) {
        return enter_child();
    }
    if (levels_.back().key == "Children") {
        return enter_children();
    }
    if (levels_.back().key == "TotalDuration") {
        return scalar();
    }
    ++skipped_;
    return true;
}

bool Handler::enter_children() {
    if (std::exchange(levels_.back().has_children, true)) {
        return fail("Children appears twice");
    }
    const ProfileMaker::Place place = levels_.back().place;
    levels_.push_back({In::children, {}, place, {}, 0, false});
    return true;
}

bool Handler::enter_child() {
    const Level& parent = levels_.back();
    const auto key = source_name_line(parent.key);
    if (!key) {
        return fail("a key must be source,name,line");
    }
    const auto place = maker_.child(parent.place, maker_.function(*key));
    if (!maker_.problem().empty()) {
        return fail(maker_.problem());
    }
    is_read_.resize(std::max<std::size_t>(is_read_.size(), place + std::size_t{1}));
    if (is_read_[place]) {
        return fail("comes twice");
    }
    is_read_[place] = true;
    levels_.push_back({In::node, {}, place, {}, 0, false});
    return true;
}

bool Handler::key(std::string& key) {
    if (skipped_ != 0) {
        return true;
    }
    Level& level = levels_.back();
    level.key = std::move(key);
    return level.in != In::node || level.key != "TotalDuration" || !level.total_ns ||
           fail("TotalDuration appears twice");
}

bool Handler::end_object() {
    if (skipped_ != 0) {
        --skipped_;
        return true;
    }
    const Level ended = std::move(levels_.back());
    levels_.pop_back();
    if (ended.in == In::children) {
        levels_.back().children_ns = ended.children_ns;
        return true;
    }
    return levels_.empty() || end_node(ended);
}

bool Handler::end_node(const Level& node) {
    if (!node.total_ns) {
        return fail("TotalDuration is missing");
    }
    const std::uint64_t total_ns = std::max(*node.total_ns, node.children_ns);
    raised_ += total_ns != *node.total_ns ? 1U : 0U;
    maker_.add(node.place, total_ns - node.children_ns, 0);
    Level& siblings = levels_.back();
    if (__builtin_add_overflow(siblings.children_ns, total_ns, &siblings.children_ns) ||
        !maker_.problem().empty()) {
        return fail("the sum of the durations overflows 64-bit nanoseconds");
    }
    return true;
}

bool Handler::start_array(std::size_t /*size*/) {
    if (skipped_ == 0 && !scalar()) {
        return false;
    }
    ++skipped_;
    return true;
}

Result<callgraph::Profile> Handler::take() && {
    callgraph::Profile& profile = maker_.profile();
    if (profile.end_unix_ms > profile.start_unix_ms &&
        __builtin_mul_overflow(profile.end_unix_ms - profile.start_unix_ms, kNsPerMs,
                               &profile.stats.wall_ns)) {
        return unexpected(ErrorCode::corrupt, "SessionEndTime is not in milliseconds since 1970");
    }
    if (raised_ != 0) {
        profile.stats.notes.push_back(
            std::to_string(raised_) +
            " nodes had less time than their children and were raised to the children's sum");
    }
    return std::move(maker_).finish();
}

}  // namespace

Result<callgraph::Profile> read_script_profiler_tree(std::string_view text,
                                                     const Options& options) {
    Handler handler{options};
    if (!nlohmann::json::sax_parse(text, &handler)) {
        return unexpected(handler.error());
    }
    return std::move(handler).take();
}

}  // namespace sample::imports
