#include "core/units.h"
#include "import/json_reader.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

class TreeReader {
public:
    TreeReader(std::string_view text, const Options& options) : reader_{text}, maker_{options} {}

    Result<callgraph::Profile> read() &&;

private:
    enum class In : std::uint8_t { node, children };

    /// An object that is read: a node, or the children of the node below it on the stack.
    struct Level {
        In in = In::node;
        ProfileMaker::Place place = 0;
        simdjson::simdjson_result<simdjson::ondemand::object_iterator> field;
        bool is_begun = false;  ///< `field` is one that was read.
        std::string key;        ///< Of that field.
        std::optional<std::uint64_t> total;
        std::uint64_t children = 0;
        bool has_children = false;
    };

    void push(In in, ProfileMaker::Place place, JsonObject object);
    bool read_levels();
    bool read_field(JsonValue value);
    bool read_duration(JsonValue value);
    bool read_child(JsonValue value);
    bool leave();
    bool end_node(const Level& node);
    /// The keys that lead to what is read.
    [[nodiscard]] std::string path() const;
    callgraph::Profile& profile() { return maker_.profile(); }

    JsonReader reader_;
    ProfileMaker maker_;
    std::vector<Level> levels_;
    std::vector<bool> is_read_;  ///< By place.
    std::uint64_t raised_ = 0;
};

std::string TreeReader::path() const {
    constexpr std::size_t kNamed = 8;
    std::string path;
    std::size_t named = 0;
    for (std::size_t i = levels_.size(); i-- > 0 && named < kNamed;) {
        if (levels_[i].in == In::children) {
            path.insert(0, in_quotes(levels_[i].key) + (path.empty() ? "" : " > "));
            ++named;
        }
    }
    return path;
}

void TreeReader::push(In in, ProfileMaker::Place place, JsonObject object) {
    Level& level = levels_.emplace_back();
    level.in = in;
    level.place = place;
    level.field = object.begin();
}

bool TreeReader::read_levels() {
    while (!levels_.empty()) {
        Level& level = levels_.back();
        if (std::exchange(level.is_begun, true)) {
            ++level.field;
        }
        if (!(level.field != decltype(level.field){})) {
            if (!leave()) {
                return false;
            }
            continue;
        }
        std::string_view key;
        JsonValue value;
        if (!reader_.take(*level.field, key, value)) {
            return false;
        }
        level.key = key;
        if (!(level.in == In::children ? read_child(value) : read_field(value))) {
            return false;
        }
    }
    return true;
}

bool TreeReader::read_field(JsonValue value) {
    Level& level = levels_.back();
    if (level.key == "TotalDuration") {
        return read_duration(value);
    }
    if (level.key == "Children") {
        JsonObject children;
        if (std::exchange(level.has_children, true)) {
            return reader_.fail("Children appears twice");
        }
        if (!reader_.read(level.key, value, children)) {
            return false;
        }
        push(In::children, level.place, children);
        return true;
    }
    const bool is_root = levels_.size() == 1;
    const bool is_start = level.key == "SessionStartTime";
    if (is_root && (is_start || level.key == "SessionEndTime")) {
        std::uint64_t& time = is_start ? profile().start_unix_ms : profile().end_unix_ms;
        if (value.get_uint64().get(time) == simdjson::SUCCESS) {
            return true;
        }
    }
    return reader_.skip(value);
}

bool TreeReader::read_duration(JsonValue value) {
    Level& level = levels_.back();
    if (level.total) {
        return reader_.fail("TotalDuration appears twice");
    }
    std::uint64_t& total = level.total.emplace();
    return reader_.read(level.key, value, total) &&
           (!__builtin_mul_overflow(total, kNsPerUs, &total) ||
            reader_.fail("TotalDuration overflows 64-bit nanoseconds"));
}

bool TreeReader::read_child(JsonValue value) {
    const Level& parent = levels_.back();
    JsonObject child;
    if (!reader_.read("a child", value, child)) {
        return false;
    }
    const auto key = source_name_line(parent.key);
    if (!key) {
        return reader_.fail("a key must be source,name,line");
    }
    const auto place = maker_.child(parent.place, maker_.function(*key));
    if (!maker_.problem().empty()) {
        return reader_.fail(maker_.problem());
    }
    is_read_.resize(std::max<std::size_t>(is_read_.size(), place + std::size_t{1}));
    if (is_read_[place]) {
        return reader_.fail("comes twice");
    }
    is_read_[place] = true;
    push(In::node, place, child);
    return true;
}

bool TreeReader::leave() {
    const Level ended = std::move(levels_.back());
    levels_.pop_back();
    if (ended.in == In::children) {
        levels_.back().children = ended.children;
        return true;
    }
    return levels_.empty() || end_node(ended);
}

bool TreeReader::end_node(const Level& node) {
    if (!node.total) {
        return reader_.fail("TotalDuration is missing");
    }
    const std::uint64_t total = std::max(*node.total, node.children);
    raised_ += total != *node.total ? 1U : 0U;
    maker_.add(node.place, total - node.children, 0);
    Level& siblings = levels_.back();
    if (__builtin_add_overflow(siblings.children, total, &siblings.children) ||
        !maker_.problem().empty()) {
        return reader_.fail("the sum of the durations overflows 64-bit nanoseconds");
    }
    return true;
}

Result<callgraph::Profile> TreeReader::read() && {
    const bool is_read = reader_.document([&](JsonObject root) {
        push(In::node, maker_.category(kAll), root);
        return read_levels() || reader_.at(path());
    });
    if (!is_read) {
        return unexpected(reader_.error());
    }
    if (profile().end_unix_ms > profile().start_unix_ms &&
        __builtin_mul_overflow(profile().end_unix_ms - profile().start_unix_ms, kNsPerMs,
                               &profile().stats.wall_ns)) {
        return unexpected(ErrorCode::corrupt, "SessionEndTime is not in milliseconds since 1970");
    }
    maker_.note_count(
        raised_, "nodes had less time than their children and were raised to the children's sum");
    return std::move(maker_).finish();
}

}  // namespace

Result<callgraph::Profile> read_script_profiler_tree(std::string_view text,
                                                     const Options& options) {
    return TreeReader{text, options}.read();
}

}  // namespace sample::imports
