// The one way to open a file that somebody else may have named: a profiled program, a recording, a
// link in debug information, another user of /tmp.
//
// What lies there is looked at before it is opened, through a descriptor that opens nothing
// (O_PATH), and only a regular file is opened then: a device acts when it is opened, a FIFO waits
// for its other end. It is the very file that was looked at, whatever its name leads to by then.
// Nothing waits: a file under somebody's lease is refused, not waited for.
#pragma once

#include "core/fd.h"

#include <fcntl.h>

#include <string>

namespace sample {

/// Opens the regular file that `place`, an O_PATH descriptor, stands for. `access` is O_RDONLY or
/// O_WRONLY. Not open, with errno set (0: it is no regular file), if it can't be had.
/// Source: open(2), O_PATH; fcntl(2), leases.
[[nodiscard]] Fd open_regular(const Fd& place, int access = O_RDONLY);

/// The same for a path. Symbolic links are followed unless `links` is O_NOFOLLOW.
[[nodiscard]] Fd open_regular(const std::string& path, int access = O_RDONLY, int links = 0);

}  // namespace sample
