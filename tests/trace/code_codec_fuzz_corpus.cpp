// Writes the seed files of code_codec_fuzz into the directory named on the command line.
#include "tests/trace/code_fixture.h"
#include "trace/code_codec.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

void write(const std::string& path, const std::vector<std::byte>& bytes) {
    std::ofstream{path, std::ios::binary}.write(
        static_cast<const char*>(static_cast<const void*>(bytes.data())),
        static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: code_codec_fuzz_corpus DIRECTORY\n", stderr);
        return 2;
    }
    const std::string directory = std::string{argv[1]} + "/";
    write(directory + "code", sample::trace::encode_code(sample::trace::some_code()));
    write(directory + "no-code", sample::trace::encode_code({}));
    write(directory + "sources", sample::trace::encode_sources(sample::trace::some_sources()));
    return 0;
}
