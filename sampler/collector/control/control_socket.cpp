#include "sampler/collector/control/control_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sample::collector {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr mode_t kPrivate = 0700;

/// The best first.
std::vector<std::string> folders_of(uid_t uid) {
    std::vector<std::string> folders;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (uid == ::geteuid() && runtime != nullptr && runtime[0] == '/') {
        folders.push_back(std::string{runtime} + "/sample");
    }
    folders.push_back("/run/user/" + std::to_string(uid) + "/sample");
    folders.push_back("/tmp/sample-" + std::to_string(uid));
    return folders;
}

using FolderIdentity = std::pair<dev_t, ino_t>;

/// Which folder it is, if only the user `uid` can write to it and look into it.
std::optional<FolderIdentity> private_folder(const std::string& folder, uid_t uid) {
    struct stat info {};
    const bool is_private = ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                            info.st_uid == uid && (info.st_mode & ALLPERMS) == kPrivate;
    return is_private ? std::optional{FolderIdentity{info.st_dev, info.st_ino}} : std::nullopt;
}

/// False: the path is too long. Source: unix(7).
bool set_path(sockaddr_un& address, const std::string& path) {
    address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return false;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return true;
}

/// 0: the name is no session's.
pid_t pid_of(std::string_view name) {
    pid_t pid = 0;
    if (!name.ends_with(kSuffix)) {
        return 0;
    }
    name.remove_suffix(kSuffix.size());
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    return parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size() && pid > 0 ? pid : 0;
}

/// A name whose process lives may belong to another socket by now than to the one that refused.
bool is_gone(pid_t pid) {
    return ::kill(pid, 0) != 0 && errno == ESRCH;
}

/// Waits for nobody: not open, with EAGAIN, if so many wait for the session already that there is
/// no room. What it returns blocks.
Fd connect(const std::string& path) {
    sockaddr_un address{};
    Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!set_path(address, path)) {
        errno = ENAMETOOLONG;
        return {};
    }
    if (!fd.is_open() ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::fcntl(fd.get(), F_SETFL, 0) != 0) {
        return {};
    }
    return fd;
}

/// Not open: errno says why.
Fd listen_at(const std::string& path) {
    // Not by its name before it listens: whoever looks takes it for what a session has left.
    const std::string unnamed = path + ".new";
    sockaddr_un address{};
    if (!set_path(address, unnamed)) {
        errno = ENAMETOOLONG;
        return {};
    }
    Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    ::unlink(unnamed.c_str());  // of an earlier process of our number
    const bool listens =
        fd.is_open() &&
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd.get(), SOMAXCONN) == 0 && ::rename(unnamed.c_str(), path.c_str()) == 0;
    return listens ? std::move(fd) : Fd{};
}

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

Result<ControlSocket> ControlSocket::listen() {
    const uid_t uid = ::geteuid();
    std::string refused;
    for (const std::string& folder : folders_of(uid)) {
        // Twice: another session that ends removes the folder once it is empty.
        for (int tries = 0; tries < 2; ++tries) {
            if (::mkdir(folder.c_str(), kPrivate) != 0 && errno != EEXIST) {
                break;
            }
            if (!private_folder(folder, uid)) {
                refused = folder;
                break;
            }
            std::string path = folder + "/" + std::to_string(::getpid()) + std::string{kSuffix};
            if (Fd fd = listen_at(path); fd.is_open()) {
                return ControlSocket{std::move(fd), std::move(path)};
            }
        }
    }
    if (!refused.empty()) {
        return unexpected(ErrorCode::permission,
                          refused + " is not a folder of this user alone (mode 0700): remove it");
    }
    return unexpected(Error::from_errno("cannot make the session's control socket"));
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : fd_{std::move(other.fd_)}, path_{std::exchange(other.path_, {})} {}

ControlSocket::~ControlSocket() {
    if (!path_.empty()) {
        ::unlink(path_.c_str());
        ::rmdir(path_.substr(0, path_.rfind('/')).c_str());  // unless another session is there
    }
}

std::vector<SessionAddress> find_sessions(uid_t uid) {
    std::vector<SessionAddress> sessions;
    std::set<FolderIdentity> seen;  // One folder may have two of the names.
    for (const std::string& folder : folders_of(uid)) {
        const auto identity = private_folder(folder, uid);
        const bool is_new = identity && seen.insert(*identity).second;
        const std::unique_ptr<DIR, int (*)(DIR*)> listing{
            is_new ? ::opendir(folder.c_str()) : nullptr, ::closedir};
        // NOLINTNEXTLINE(concurrency-mt-unsafe): this stream is nobody else's.
        while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
            const pid_t pid = pid_of(entry->d_name);
            std::string path = folder + "/" + entry->d_name;
            if (pid == 0) {
                continue;
            }
            if (connect(path).is_open()) {
                sessions.push_back({pid, std::move(path)});
            } else if (errno == ECONNREFUSED && uid == ::geteuid() && is_gone(pid)) {
                ::unlink(path.c_str());
            }
        }
    }
    std::sort(sessions.begin(), sessions.end(),
              [](const auto& a, const auto& b) { return a.collector < b.collector; });
    return sessions;
}

Result<Fd> connect_to_session(const std::string& path, uid_t uid) {
    Fd fd = connect(path);
    if (!fd.is_open()) {
        return unexpected(Error::from_errno("cannot reach the session at " + path));
    }
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        (peer.uid != uid && peer.uid != 0)) {
        return unexpected(ErrorCode::permission, path + " is another user's");
    }
    return fd;
}

std::string percent_encoded(const std::string& text) {
    std::string out;
    for (const char each : text) {
        const auto byte = static_cast<unsigned char>(each);
        if (byte <= ' ' || byte == '%' || byte >= 0x7f) {
            out += '%';
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 0xfU];
        } else {
            out += each;
        }
    }
    return out;
}

std::string percent_decoded(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            const std::size_t high = kDigits.find(text[i + 1]);
            const std::size_t low = kDigits.find(text[i + 2]);
            if (high != std::string_view::npos && low != std::string_view::npos) {
                out += static_cast<char>(high * kDigits.size() + low);
                i += 2;
                continue;
            }
        }
        out += text[i];
    }
    return out;
}

}  // namespace sample::collector
