"""Says which of two answers for an address the program itself supports.

Where there is DWARF, its entries and line table do, as readelf_dwarf.py reads them: the function
whose ranges hold the address; in it the calls whose own ranges do, and those of every entry around
them up to the function; the row of the line table; of each call the place that it tells. Where
entries contradict each other (a call holds the address, one around it does not; two calls beside
each other do; two functions do whose answers differ) it says nothing. Without DWARF there, or for
names alone, it is the symbols that have a size and hold the address, and the stubs of the PLT.

It supports an answer that is the same as its own, and of two answers one if not the other, too.
"""
import bisect
import re
import subprocess

import compare
from readelf_dwarf import BLOCKS, CALL, FUNCTION, Entries, Rows

OURS, THEIRS, UNDECIDED = "ours", "theirs", "undecided"


def symbols_holding(program, addresses):
    """address -> names of the symbols with a size, and of the PLT stubs, that hold it."""
    set_of_wanted, holding = set(addresses), {}
    wanted = sorted(set_of_wanted)
    done = subprocess.run(["readelf", "-sW", program], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8", errors="replace")
    for start, size, name in re.findall(r"^ +\d+: ([0-9a-f]+) +(\w+) (?:FUNC|IFUNC|NOTYPE) +\w+ "
                                        r"+\w+ +\d+ ([^\s@]+)", done.stdout, re.M):
        begin = int(start, 16)
        first = bisect.bisect_left(wanted, begin)
        for address in wanted[first:bisect.bisect_left(wanted, begin + int(size, 0))]:
            holding.setdefault(address, set()).add(name)
    for address, name in stubs(program).items():
        if address in set_of_wanted:
            holding.setdefault(address, set()).add(name)
    return holding


def stubs(program):
    """Where an instruction of a PLT stub begins -> name@plt, as binutils' objdump finds them."""
    sections = ["--section=" + name for name in (".plt", ".plt.sec", ".plt.got")]
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", *sections, program],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          encoding="utf-8", errors="replace")
    found, name = {}, ""
    for line in done.stdout.splitlines():
        label = re.fullmatch(r"[0-9a-f]+ <(.*)>:", line)
        code = re.match(r" +([0-9a-f]+):\t", line)
        if label:
            name = label.group(1)
        elif code and name.endswith("@plt"):
            found[int(code.group(1), 16)] = name
    return found


def function_of(entry):
    while entry is not None and entry.tag != FUNCTION:
        entry = entry.around
    return entry


def chain_of(entries):
    """The function among the entries and its calls, outermost first; None: they contradict."""
    if entries[0].tag != FUNCTION:
        return None
    chain, held = [entries[0]], {entries[0]}
    for entry in entries[1:]:
        around = entry.around
        if around not in held:
            return None
        held.add(entry)
        if entry.tag == CALL:
            while around.tag in BLOCKS:
                around = around.around
            if around is not chain[-1]:
                return None
            chain.append(entry)
    return chain


class Judge:
    """Of some addresses of one program."""

    def __init__(self, program, addresses, with_lines=True):
        self.with_lines, self.chains, self.contradicted = with_lines, {}, set()
        self.places = {}  # (address, unit) -> (file, line)
        self.row_starts = {}  # address -> where its row begins
        self.readable = {}  # a symbol's name -> as people read it
        wanted = set(addresses)
        self.symbols = symbols_holding(program, wanted)
        if with_lines:
            rows = Rows(program, wanted)
            starts = {row[0] for row in rows.found.values()}
            self.entries = Entries(program, wanted | starts)
            for address, entries in self.entries.holding.items():
                self.read_chains(rows, address, entries)
        self.demangle()
        for address, chains in self.chains.items():
            answers = {tuple(self.frames_of(address, chain)) for chain in chains}
            if len(answers) > 1:
                self.contradicted.add(address)

    def read_chains(self, rows, address, entries):
        """Copies of a function that the linker made one are each in their unit."""
        of_function = {}
        for entry in entries:
            of_function.setdefault(function_of(entry), []).append(entry)
        chains = [chain_of(part) for function, part in of_function.items() if function is not None]
        if None in chains:
            self.contradicted.add(address)
            return
        for chain in chains:
            self.read_places(rows, address, chain)
        with_row = [chain for chain in chains if (address, chain[0].unit) in self.places]
        self.chains[address] = with_row or chains

    def read_places(self, rows, address, chain):
        unit = chain[0].unit
        row = rows.found.get((address, unit.table))
        if row:
            self.places[(address, unit)] = (rows.path(unit.table, row[1], unit.compiled_in), row[2])
            self.row_starts[address] = row[0]
        for call in chain[1:]:
            call.place = (rows.path(unit.table, call.call_file, unit.compiled_in), call.call_line)

    def demangle(self):
        raw = {name for names in self.symbols.values() for name in names}
        for chains in self.chains.values():
            raw.update(self.entries.name_of(entry)[0] for chain in chains for entry in chain)
        ordered = sorted(name for name in raw if name)
        if ordered:
            self.readable = dict(zip(ordered, compare.demangled("\n".join(ordered)).splitlines()))

    def frames_of(self, address, chain):
        """Innermost first."""
        place, found = self.places.get((address, chain[0].unit), ("", 0)), []
        for entry in reversed(chain):
            name = self.entries.name_of(entry)[0]
            found.append((self.readable.get(name, "??"), *place))
            place = entry.place
        return found

    def frames(self, address):
        """Its own answer; None if it has none."""
        if not self.chains.get(address) or address in self.contradicted:
            return None
        return self.frames_of(address, self.chains[address][0])

    def supports(self, address, answer, names):
        if self.with_lines and address in self.contradicted:
            return False
        frames = self.frames(address) if self.with_lines else None
        if frames is not None:
            return same(answer, frames, names)
        if len(answer) != 1 and self.with_lines:
            return False
        return self.is_symbol(address, answer[-1][0])

    def is_symbol(self, address, function):
        """Does a symbol of that name hold the address? What none holds is ??."""
        held = {compare.spelt(self.readable[name]) for name in self.symbols.get(address, ())}
        return compare.spelt(function) in (held or {"??"})

    def verdict(self, address, ours, theirs, names):
        one, other = self.supports(address, ours, names), self.supports(address, theirs, names)
        if one == other:
            return UNDECIDED
        return OURS if one else THEIRS


def same(answer, frames, names):
    """Names may be bare on either side, frame by frame."""
    return len(answer) == len(frames) and all(
        compare.compare([one], [other], names)[0] or compare.compare([other], [one], names)[0]
        for one, other in zip(answer, frames))
