// Writes the seed files of symbol_codec_fuzz into the directory named on the command line.
#include "tests/trace/symbol_block_fixture.h"

#include <cstdio>
#include <fstream>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: symbol_codec_fuzz_corpus DIRECTORY\n", stderr);
        return 2;
    }
    for (std::uint32_t seed = 0; seed < 6; ++seed) {
        const auto block = sample::trace::made_up_block(seed, 3 * seed, 1 + seed);
        const auto bytes = sample::trace::encode(block);
        std::ofstream out{std::string{argv[1]} + "/" + std::to_string(seed), std::ios::binary};
        out.write(static_cast<const char*>(static_cast<const void*>(bytes.data())),
                  static_cast<std::streamsize>(bytes.size()));
        if (!out) {
            std::fprintf(stderr, "cannot write into %s; make the directory first\n", argv[1]);
            return 1;
        }
    }
    return 0;
}
