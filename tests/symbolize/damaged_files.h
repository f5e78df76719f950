// Damaged files, each of which has to be read well.
//
// They are read in a child, one after another, so that a crash inside elfutils is counted and
// named, too. Where one ends badly, another child goes on behind it.
#pragma once

#include <functional>
#include <string>

namespace sample::symbolize {

struct DamagedFiles {
    unsigned count = 0;
    /// Puts the file with this number in its place; says what is wrong with it.
    std::function<std::string(unsigned number)> damage;
    /// False: not well. Has 20 seconds.
    std::function<bool()> read;
};

void expect_survived(const DamagedFiles& files);

}  // namespace sample::symbolize
