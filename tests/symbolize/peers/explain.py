"""Why a peer says something else than DWARF.

A reason is named only if it leads to exactly what the peer answers, every frame of it.
"""
import judge as judging


def reason(peer, judge, address, theirs, names):
    """"" if none is known."""
    if any(name.endswith("@plt") for name in judge.symbols.get(address, ())):
        return "it does not name the stubs of the PLT"
    if not judge.chains.get(address) or address in judge.contradicted:
        return ""
    return {"eu-addr2line": of_eu_addr2line, "addr2line": of_addr2line}.get(
        peer, lambda *_: "")(judge, address, theirs, names)


def of_eu_addr2line(judge, address, theirs, names):
    """elfutils 0.188, src/addr2line.c and libdw/libdw_visit_scopes.c."""
    chain, frames = judge.chains[address][0], judge.frames(address)
    around = chain[0].around
    if (around.around is not None and len(theirs) == 1 and theirs[0][1:] == frames[0][1:] and
            judge.is_symbol(address, theirs[0][0])):
        return "it does not look inside " + around.tag.decode().replace("DW_TAG_", "")
    # dwfl_lineinfo() overwrites the address by its row's, for which callers are then looked up.
    callers = judge.frames(judge.row_starts.get(address))
    if callers and judging.same(theirs[:1], frames[:1], names) and judging.same(
            theirs[1:], callers[1:], names):
        return "callers of where the line's row begins"
    return ""


def of_addr2line(judge, address, theirs, names):
    """binutils 2.40, bfd/dwarf2.c."""
    chain = judge.chains[address][0]
    found = len(chain)  # it looks for the innermost, whose callers it knows
    while found > 1 and chain[found - 1].by_index:
        found -= 1
    if found < len(chain) and same_but_unlinked(judge, address, chain[:found], theirs, names):
        return "it does not read range lists by index (DW_FORM_rnglistx)"
    if same_but_unlinked(judge, address, chain, theirs, names):
        return "without a linkage name it takes the symbol's name and file"
    frames = judge.frames(address)
    function, file, line = theirs[0]
    if (file, line) == (chain[0].unit.source, frames[0][2]) and judging.same(
            [(function, *frames[0][1:])] + theirs[1:], frames, names):
        return "it takes the symbol's file"
    return ""


def same_but_unlinked(judge, address, chain, theirs, names):
    """The same, but for the names and files of functions without a linkage name."""
    frames = judge.frames_of(address, chain)
    return len(frames) == len(theirs) and all(
        judging.same([one], [other], names) or
        (one[2] == other[2] and not judge.entries.name_of(entry)[1] and
         judge.is_symbol(address, one[0]))
        for one, other, entry in zip(theirs, frames, reversed(chain)))
