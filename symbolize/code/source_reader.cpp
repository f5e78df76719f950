#include "symbolize/code/source_reader.h"

#include "core/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr off_t kLargestFile = off_t{64} << 20;
constexpr std::size_t kLongestLine = 1024;

struct OpenSource {
    std::string text;
    std::time_t changed = 0;
};

/// A program's debug information may name any file, and what is read goes into a recording that is
/// handed on: root must not read for it what others may not.
bool is_for_others(const struct stat& info) {
    return (info.st_mode & S_IROTH) != 0 || (::geteuid() != 0 && info.st_uid == ::geteuid());
}

Result<OpenSource> read_file(const std::string& path) {
    if (!path.starts_with('/')) {
        return unexpected(ErrorCode::not_found,
                          "the debug information does not say in which folder " + path + " was");
    }
    const Fd fd = open_regular(path);
    if (!fd.is_open() && errno != 0) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return unexpected(ErrorCode::not_found, path + " is not here");
        }
        return unexpected(Error::from_errno("cannot open " + path));
    }
    struct stat info = {};
    if (!fd.is_open() || ::fstat(fd.get(), &info) != 0 || info.st_size > kLargestFile) {
        return unexpected(ErrorCode::unsupported, path + " is no source file");
    }
    if (!is_for_others(info)) {
        return unexpected(ErrorCode::permission,
                          path + " is not for others to read (chmod o+r would allow it)");
    }
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    const ssize_t got = TEMP_FAILURE_RETRY(::read(fd.get(), text.data(), text.size()));
    if (got < 0) {
        return unexpected(Error::from_errno("cannot read " + path));
    }
    text.resize(static_cast<std::size_t>(got));  // Less if it shrank meanwhile.
    return OpenSource{std::move(text), info.st_mtim.tv_sec};
}

/// Whether a line is within the context of a wanted one.
bool is_wanted(const SourceRequest& request, std::uint32_t line) {
    const std::uint32_t first = line > request.context ? line - request.context : 1;
    const auto found = request.lines.lower_bound(first);
    return found != request.lines.end() && *found - std::min(*found, line) <= request.context;
}

}  // namespace

Result<SourceText> read_source(const SourceRequest& request, std::size_t& budget) {
    const auto source = read_file(request.file);
    if (!source) {
        return unexpected(source.error());
    }
    SourceText result;
    result.file = request.file;
    if (request.module_time != 0 && source->changed > request.module_time) {
        result.match = SourceMatch::newer;
    }
    bool is_open = false;
    std::size_t at = 0;
    for (std::uint32_t number = 1; at < source->text.size(); ++number) {
        const std::size_t end = std::min(source->text.find('\n', at), source->text.size());
        std::string_view kept{&source->text[at], end - at};
        kept.remove_suffix(kept.ends_with('\r') ? 1 : 0);
        kept = kept.substr(0, kLongestLine);
        at = end + 1;
        if (!is_wanted(request, number) || kept.size() + 1 > budget) {
            is_open = false;
            continue;
        }
        if (!is_open) {
            result.pieces.push_back({number, {}});
            is_open = true;
        }
        budget -= kept.size() + 1;
        result.pieces.back().lines.emplace_back(kept);
    }
    return result;
}

std::time_t time_of_file(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mtim.tv_sec : 0;
}

}  // namespace sample::symbolize
