// The file that a process has mapped, opened while the process lives, so that its names can be read
// when the session ends: by then it may be deleted, replaced, or in a container that is gone.
//
// What is opened is what was mapped. A build-id tells; without one, device and inode are those of
// the mapping. The name that the loader was given says little: it may be relative, a link that
// leads elsewhere by now, a descriptor of the process's, or mean something else in another root. It
// is taken at its word alone where a module has no build-id and is mapped no more.
#pragma once

#include "sampler/collector/recorder.h"
#include "trace/records.h"

#include <sys/types.h>

#include <cstdint>

namespace sample::collector {

/// Gives `module`, which lies at `start` in `pid`, its id, and has `recorder` keep its file, once
/// for each module; other kinds than ELF files have none. Where its path leads elsewhere, that
/// becomes the one that /proc/PID/maps has. Some 50 µs for a module that is new to the session, or
/// has no build-id: then its file is what tells it from others that lay at its path; or a relative
/// name.
///
/// Ways to the file, in this order: the name in the process's root, or from its folder; the name
/// here; the mapping's path in both; /proc/PID/map_files (needs CAP_SYS_ADMIN or
/// CAP_CHECKPOINT_RESTORE); /proc/PID/exe. Source: proc(5), openat2(2).
///
/// A descriptor would keep its filesystem from being unmounted, which the program may be about to
/// do: only files on the filesystem of our own root are kept open, others are copied, and large
/// ones left to their paths, unless these do not lead to them. A library that was loaded later and
/// has been made of late is copied, too: it may be made again, in place.
void know_module_file(Recorder& recorder, trace::Module& module, pid_t pid, std::uint64_t start);

}  // namespace sample::collector
