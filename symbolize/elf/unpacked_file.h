// Debug files with compressed sections, kept unpacked.
//
// Distributions compress debug information. libdw unpacks all of a file before it answers the first
// question: for the C library's, 10 MB, that takes longer than everything else that naming a new
// address does. So the cache of names keeps what was unpacked once, as an ELF file that is read in
// place: the debug file's sections under their numbers, without those of which nobody here asks
// anything (.debug_loc, .debug_loclists).
//
// Behind the file's own end there are 32 bytes: "SMPLUNP1", size and time of change of the debug
// file that it was made of, and a checksum of all before: against what crashes and disks do.
#pragma once

#include "core/fd.h"
#include "symbolize/elf/elf_file.h"

#include <cstdint>
#include <span>

namespace sample {
class MappedReading;
}

namespace sample::symbolize {

class KeptFiles;

/// What is kept of the debug file of `build_id`, if that has the stamp `original` still; else not
/// open. A damaged one is deleted. Reads all of it, for the checksum.
[[nodiscard]] Fd open_unpacked(const KeptFiles& kept, std::span<const std::uint8_t> build_id,
                               const FileStamp& original);

/// A debug file that libdw has unpacked.
struct UnpackedFile {
    Elf* elf = nullptr;
    FileStamp original;
    const MappedReading& reading;  ///< Of it; if that was broken, it is not kept.
};

/// Keeps it for open_unpacked(). Not if it would take more than 32 MiB; nor files of 32 bits.
void keep_unpacked(KeptFiles& kept, std::span<const std::uint8_t> build_id,
                   const UnpackedFile& file);

}  // namespace sample::symbolize
