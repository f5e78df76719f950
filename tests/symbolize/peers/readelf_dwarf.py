"""What DWARF holds of some addresses of a program, by binutils' readelf.

readelf has a reader of its own: it shares no code with libdw (symbolize/, eu-addr2line), with BFD
(addr2line) or with LLVM. Its text is read once, and only what holds one of the addresses is kept.
Range lists are decoded here, as readelf 2.40 prints those of DWARF 5 without their base.
Sources: DWARF 5, sections 2.17, 2.25, 6.2 and 7.25; DWARF 4, section 2.17.3.
"""
import bisect
import os
import re
import struct
import subprocess

CALL, FUNCTION = b"DW_TAG_inlined_subroutine", b"DW_TAG_subprogram"
BLOCKS = (b"DW_TAG_lexical_block", b"DW_TAG_try_block", b"DW_TAG_catch_block")
ENTRY = re.compile(rb" <(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")
ATTRIBUTE = re.compile(rb"    <[0-9a-f]+> +DW_AT_(\w+) *: \((\w+)\) (.*)")
REFERENCE = re.compile(rb"<0x([0-9a-f]+)>")
KEPT = {b"name", b"linkage_name", b"MIPS_linkage_name", b"abstract_origin", b"specification",
        b"low_pc", b"high_pc", b"ranges", b"call_file", b"call_line", b"comp_dir", b"stmt_list",
        b"addr_base"}


def text_of(program, option):
    """Lines of readelf's output."""
    with subprocess.Popen(["readelf", "-W", option, program], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as tool:
        yield from tool.stdout


def number(text):
    """The last number of "(index: 0x1): 0x11c8" or "12", a hexadecimal one only with 0x."""
    found = re.search(rb"(0x[0-9a-f]+|\d+)(?:\s*\(.*\))?\s*$", text)
    return int(found.group(1), 0) if found else 0


def string(text):
    return re.sub(rb"^\((?:offset|index)[^)]*\): ", b"", text).decode("utf-8", "replace").strip()


def sections(program):
    """name -> bytes, of those that readelf's text does not do for."""
    done = subprocess.run(["readelf", "-SW", program], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8")
    found = {}
    with open(program, "rb") as file:
        for name, start, size in re.findall(r" (\.debug_(?:ranges|rnglists|addr))\s+PROGBITS\s+\w+ "
                                            r"(\w+) (\w+)", done.stdout):
            file.seek(int(start, 16))
            found[name] = file.read(int(size, 16))
    return found


def leb128(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


class RangeLists:
    """Sections .debug_ranges and .debug_rnglists, with 8-byte addresses."""

    def __init__(self, program):
        self.sections = sections(program)

    def read(self, version, offset, base, addresses_at):
        """[(begin, end)] of the list at `offset`; `addresses_at` is the unit's DW_AT_addr_base."""
        read = self.read_5 if version >= 5 else self.read_4
        return [one for one in read(offset, base, addresses_at) if one[0] < one[1]]

    def read_4(self, at, base, _):
        data = self.sections.get(".debug_ranges", b"")
        while at + 16 <= len(data):
            begin, end = struct.unpack_from("<QQ", data, at)
            at += 16
            if begin == end == 0:
                return
            if begin == (1 << 64) - 1:
                base = end
            else:
                yield base + begin, base + end

    def address(self, addresses_at, index):
        return struct.unpack_from("<Q", self.sections[".debug_addr"], addresses_at + 8 * index)[0]

    def read_5(self, at, base, addresses_at):
        data = self.sections.get(".debug_rnglists", b"")
        while at < len(data):
            kind, at = data[at], at + 1
            if kind == 0:  # DW_RLE_end_of_list
                return
            if kind in (5, 6, 7):  # DW_RLE_base_address, _start_end, _start_length
                first, at = struct.unpack_from("<Q", data, at)[0], at + 8
            else:
                first, at = leb128(data, at)
                if kind != 4:  # all but DW_RLE_offset_pair: an index
                    first = self.address(addresses_at, first)
            if kind in (1, 5):
                base = first
                continue
            if kind == 6:
                second, at = struct.unpack_from("<Q", data, at)[0], at + 8
            else:
                second, at = leb128(data, at)
            if kind == 2:  # DW_RLE_startx_endx
                second = self.address(addresses_at, second)
            yield {4: (base + first, base + second), 2: (first, second),
                   6: (first, second)}.get(kind, (first, first + second))


class Rows:
    """The rows of line tables that hold one of some addresses."""

    def __init__(self, program, addresses):
        self.wanted = sorted(set(addresses))
        self.found = {}  # (address, table) -> (the row's own address, file number, line)
        self.files = {}  # table -> {number: (folder, name)}
        self.table, self.reads_files = 0, False
        self.start_sequence()
        for text in text_of(program, "--debug-dump=rawline"):
            at = text.find(b"]  ", 0, 40)
            if text.startswith(b"  [0x") and at > 0:
                self.step(text[at + 3:])
            else:
                self.header(text)

    def start_sequence(self):
        self.address, self.file, self.line, self.rows = 0, 1, 1, []

    def header(self, text):
        """The tables of folders and files ahead of a program, and where it is."""
        if text.startswith(b"  Offset:"):
            self.table = number(text)
            self.folders, self.files[self.table] = {}, {}
        elif b" Table (offset" in text or b"Table is empty" in text:
            self.reads_files = b"File Name" in text
        elif text.startswith(b"  ") and text.strip()[:1].isdigit():
            words = text.rstrip(b"\n").split(b"\t")
            if len(words) < 2:
                return
            entry, name = int(words[0]), string(words[-1])
            if not self.reads_files:
                self.folders[entry] = name
            else:
                folder = next(int(word) for word in words[1:] if word.isdigit())
                self.files[self.table][entry] = (self.folders.get(folder, ""), name)

    def step(self, text):
        if text.startswith((b"Special opcode", b"Advance PC", b"Extended opcode 2:")):
            found = re.search(rb"to (?:0x)?([0-9a-f]+)", text)
            self.address = int(found.group(1), 16)
            if text.startswith(b"Special"):
                self.line = int(re.search(rb"Line by -?\d+ to (\d+)", text).group(1))
                self.rows.append((self.address, self.file, self.line))
        elif text.startswith(b"Advance Line"):
            self.line = int(text.split()[-1])
        elif text.startswith(b"Copy"):
            self.rows.append((self.address, self.file, self.line))
        elif text.startswith(b"Set File Name"):
            self.file = int(re.search(rb"entry (\d+)", text).group(1))
        elif text.startswith(b"Extended opcode 1:"):
            self.end_sequence()
            self.start_sequence()

    def end_sequence(self):
        if not self.rows:
            return
        self.rows.sort(key=lambda row: row[0])  # stable: of several at one address the last counts
        starts = [row[0] for row in self.rows]
        first = bisect.bisect_left(self.wanted, starts[0])
        for address in self.wanted[first:bisect.bisect_left(self.wanted, self.address)]:
            row = self.rows[bisect.bisect_right(starts, address) - 1]
            self.found[(address, self.table)] = row

    def path(self, table, file, compiled_in):
        folder, name = self.files.get(table, {}).get(file, ("", ""))
        return os.path.normpath(os.path.join(compiled_in, folder, name)) if name else ""


class Entry:
    """One with code: a function, a block or an inlined call."""

    def __init__(self, tag, offset, unit, around):
        self.tag, self.offset, self.unit, self.around = tag, offset, unit, around
        self.ranges, self.by_index = [], False
        self.call_file = self.call_line = 0
        self.place = ("", 0)  # of the call

    def holds(self, address):
        return any(begin <= address < end for begin, end in self.ranges)


class Unit:
    def __init__(self):
        self.version, self.base, self.addresses_at = 4, 0, 0
        self.compiled_in, self.source, self.table = "", "", None


class Entries:
    """The entries of .debug_info that hold one of some addresses, and all functions' names."""

    def __init__(self, program, addresses):
        self.wanted = sorted(set(addresses))
        self.holding = {}  # address -> [Entry], each behind the one that it stands in
        self.names = {}  # offset -> (name, linkage name, offset of the entry that tells more)
        self.lists = RangeLists(program)
        self.unit, self.stack, self.entry, self.attributes = Unit(), [], None, {}
        skips = False
        for text in text_of(program, "--debug-dump=info"):
            if text.startswith(b"  Compilation Unit @"):
                self.finish()
                self.unit, self.stack, skips = Unit(), [], False
            elif text.startswith(b"   Version:"):
                self.unit.version = number(text)
            elif not skips and text.startswith(b" <"):
                skips = not self.finish()
                if not skips:
                    self.begin(text)
            elif self.entry is not None:
                found = ATTRIBUTE.match(text)
                if found and found.group(1) in KEPT:
                    self.attributes[found.group(1)] = (found.group(2), found.group(3))
        self.finish()

    def begin(self, text):
        found = ENTRY.match(text)
        if not found:
            return  # the end of an entry's children
        depth, tag = int(found.group(1)), found.group(3)
        del self.stack[depth:]
        entry = Entry(tag, int(found.group(2), 16), self.unit, self.stack[-1] if depth else None)
        self.stack.append(entry)
        if depth == 0 or tag in (CALL, FUNCTION) or tag in BLOCKS:
            self.entry = entry

    def finish(self):
        """False if the entry was a unit's that holds none of the addresses."""
        entry, attributes = self.entry, self.attributes
        self.entry, self.attributes = None, {}
        if entry is None:
            return True
        if entry.around is None:
            self.read_unit(attributes)
        self.read_ranges(entry, attributes)
        held = self.held(entry)
        if entry.around is None:
            return bool(held) or not entry.ranges
        entry.call_file = number(attributes.get(b"call_file", (b"", b"0"))[1])
        entry.call_line = number(attributes.get(b"call_line", (b"", b"0"))[1])
        for address in held:
            self.holding.setdefault(address, []).append(entry)
        if entry.tag not in BLOCKS:
            self.keep_name(entry, attributes)
        return True

    def read_unit(self, attributes):
        unit = self.unit
        unit.compiled_in = string(attributes.get(b"comp_dir", (b"", b""))[1])
        name = string(attributes.get(b"name", (b"", b""))[1])
        unit.source = os.path.normpath(os.path.join(unit.compiled_in, name))
        if b"stmt_list" in attributes:
            unit.table = number(attributes[b"stmt_list"][1])
        unit.base = number(attributes.get(b"low_pc", (b"", b"0"))[1])
        unit.addresses_at = number(attributes.get(b"addr_base", (b"", b"0"))[1])

    def read_ranges(self, entry, attributes):
        if b"ranges" in attributes:
            form, text = attributes[b"ranges"]
            entry.by_index = form == b"rnglistx"
            entry.ranges = self.lists.read(self.unit.version, number(text), self.unit.base,
                                           self.unit.addresses_at)
        elif b"high_pc" in attributes:
            low = number(attributes.get(b"low_pc", (b"", b"0"))[1])
            form, text = attributes[b"high_pc"]
            high = number(text) + (0 if form.startswith(b"addr") else low)
            entry.ranges = [(low, high)] if low else []

    def held(self, entry):
        found = []
        for begin, end in entry.ranges:
            first = bisect.bisect_left(self.wanted, begin)
            while first < len(self.wanted) and self.wanted[first] < end:
                found.append(self.wanted[first])
                first += 1
        return found

    def keep_name(self, entry, attributes):
        linkage = attributes.get(b"linkage_name") or attributes.get(b"MIPS_linkage_name")
        more = attributes.get(b"abstract_origin") or attributes.get(b"specification")
        found = REFERENCE.search(more[1]) if more else None
        self.names[entry.offset] = (
            string(attributes[b"name"][1]) if b"name" in attributes else "",
            string(linkage[1]) if linkage else "", int(found.group(1), 16) if found else None)

    def name_of(self, entry):
        """(the linkage name or else the bare one; is it a linkage name?)"""
        offset, bare = entry.offset, ""
        for _ in range(8):
            if offset not in self.names:
                break
            name, linkage, offset = self.names[offset]
            bare = bare or name
            if linkage:
                return linkage, True
        return bare, False
