// The file that a process has mapped, opened while the process lives, so that its names can be read
// when the session ends: by then it may be deleted, replaced, or in a container that is gone.
//
// What is opened is what was mapped: its build-id is compared; without one, the kernel's own link
// to the mapping is asked first. A name may lead elsewhere, and a chroot or mount namespace has its
// own idea of a path.
#pragma once

#include "core/fd.h"
#include "sampler/collector/recorder.h"
#include "trace/records.h"

#include <sys/types.h>

#include <cstdint>

namespace sample::collector {

/// Opens the file of `module`, which lies at `start` in `pid`. Ways, in this order: the path in the
/// process's root, the path here, /proc/PID/map_files (needs CAP_SYS_ADMIN or
/// CAP_CHECKPOINT_RESTORE), /proc/PID/exe. Closed if none leads to that file.
/// Source: proc(5), openat2(2).
[[nodiscard]] Fd open_module_file(const trace::Module& module, pid_t pid, std::uint64_t start);

/// Gives `module` its id, and has `recorder` keep its file, once for each module; other kinds than
/// ELF files have none. Some 50 µs for a module that is new to the session, or has no build-id:
/// then its file is what tells it from others that lay at its path.
///
/// A descriptor would keep its filesystem from being unmounted, which the program may be about to
/// do: only files on the filesystem of our own root are kept open, others are copied, and large
/// ones left to their paths, unless these do not lead to them. A library that was loaded later and
/// has been made of late is copied, too: it may be made again, in place.
void know_module_file(Recorder& recorder, trace::Module& module, pid_t pid, std::uint64_t start);

}  // namespace sample::collector
