// A library whose constructor walks its own stack: the loader's start code is the root.
#include "tests/unwind/targets/plugin.h"
#include "tests/unwind/walk_fixture.h"

namespace sample::unwind::testing {

namespace {

WalkResult in_constructor;

[[gnu::constructor]] void construct() {
    Tables tables;
    Walked walked;
    SAMPLE_WALK_HERE(walked, tables);
    in_constructor = walked.result;
}

}  // namespace

const WalkResult& preloaded_result() {
    return in_constructor;
}

}  // namespace sample::unwind::testing
