// Prints the distinct addresses that a recording has of a program, as naming it asks for them: of
// callers an address inside the call.
//
// usage: recorded_addresses RECORDING PROGRAM
#include "callgraph/load_recording.h"

#include <cstdio>
#include <string_view>

int main(int count, char** words) {
    if (count != 3) {
        std::fprintf(stderr, "usage: recorded_addresses RECORDING PROGRAM\n");
        return 2;
    }
    const auto recording = sample::callgraph::load_recording(words[1]);
    if (!recording) {
        std::fprintf(stderr, "%s\n", recording.error().message().c_str());
        return 1;
    }
    for (const sample::callgraph::CodeAddress& place : recording->addresses()) {
        const auto* module = recording->module_of(place);
        if (module != nullptr && module->path == std::string_view{words[2]}) {
            std::printf("0x%llx\n", static_cast<unsigned long long>(place.address));
        }
    }
    return 0;
}
