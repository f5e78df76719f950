// The architecture for which a source is compiled.
//
// A source of the walker ends in the instances of its templates for arch::Built. In the handler's
// archive that is the native architecture, and there is no other. A library for walks of foreign
// stacks compiles the same sources once more (unwind/CMakeLists.txt). Included by sources only.
#pragma once

#include "unwind/arch/native.h"

#ifdef SAMPLE_UNWIND_FOREIGN_AARCH64
#include "unwind/arch/aarch64.h"
#endif

namespace sample::unwind::arch {

#ifdef SAMPLE_UNWIND_FOREIGN_AARCH64
using Built = Aarch64;
#else
using Built = Native;
#endif

}  // namespace sample::unwind::arch
