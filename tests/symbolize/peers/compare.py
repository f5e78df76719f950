"""Compares what symbolize/ says of addresses with what other tools say.

Two answers for an address are the same if they have the same frames, innermost first: the same
function, file and line in each. Functions are the same if their names are, but for

 clone  the part or copy of a function: "foo [clone .cold]", "foo.part.0"
 bare   a peer gives only the bare name that the compiler wrote: "unexported"
 alias  two symbols of one address
 spelling  demanglers put brackets around operands, or not: "f<decltype ((g<int>)())>"
"""
import os
import re
import subprocess

PEERS = ("llvm-symbolizer", "addr2line", "eu-addr2line")


def command(peer, program):
    return {"eu-addr2line": ["eu-addr2line", "-f", "-i", "-C", "-A", "-a", "-e", program],
            "addr2line": ["addr2line", "-afiC", "-e", program],
            "llvm-symbolizer": ["llvm-symbolizer", "--obj=" + program, "--output-style=GNU",
                                "--functions=linkage", "--inlining", "--no-demangle",
                                "--addresses"]}[peer]


def ask(words, addresses):
    """address -> [(function, file, line)], innermost first."""
    text = "".join("0x%x\n" % address for address in addresses)
    done = subprocess.run(words, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False, encoding="utf-8", errors="replace")
    # llvm-symbolizer's own demangler spells lambdas and clones its own way.
    answers = parse(demangled(done.stdout) if "--no-demangle" in words else done.stdout)
    # eu-addr2line ends with 1 for an address that it can say little of, and goes on.
    if done.returncode not in (0, 1) or len(answers) != len(set(addresses)):
        raise SystemExit("%s ended with %d after %d of %d addresses"
                         % (words[0], done.returncode, len(answers), len(set(addresses))))
    return answers


def demangled(text):
    return subprocess.run(["c++filt", "--no-verbose"], input=text, stdout=subprocess.PIPE, check=True,
                          encoding="utf-8").stdout


def parse(text):
    answers = {}
    frames, function = None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames, function = [], None
            answers[int(line, 16)] = frames
        elif frames is None or not line:
            continue
        elif function is None:
            function = re.split(" inlined (?:at|from) ", line)[0]  # eu-addr2line
        else:
            frames.append((function, *place_of(line)))
            function = None
    return answers


def place_of(text):
    text = re.sub(r" \((discriminator \d+|inlined by)\)", "", text)
    found = re.fullmatch(r"(.*?):(\d+|\?)(:\d+)?", text)
    if not found or found.group(1) == "??":
        return "", 0
    return os.path.normpath(found.group(1)), int(found.group(2).replace("?", "0"))


def whole_name(name):
    """Without what marks parts and copies."""
    name = re.sub(r" \[clone [^]]*\]", "", name)
    return name if "(" in name else re.sub(r"\.(part|cold|constprop|isra|lto_priv|llvm)\b.*", "", name)


def spelt(name):
    """The same for all demanglers: brackets are theirs to choose in expressions."""
    return re.sub(r"[() ]", "", whole_name(name))


def without_templates(name):
    """ns::foo(int) of ns::foo<A<B> >(int)."""
    name = name.replace("(anonymous namespace)", "_")
    name = re.sub(r"operator *\(\)", "operator_call", name)
    name = re.sub(r"operator *(<=>|<<=?|>>=?|->\*?|[<>]=?)", "operator_", name)
    previous = None
    while previous != name:
        previous, name = name, re.sub(r" ?<[^<>]*>", "", name)
    return name


def is_bare(name):
    """Neither scopes nor parameters, but perhaps template arguments: "pack<char, int>"."""
    return not re.search(r"::|\(", without_templates(name))


def base_name(name):
    """foo of ns::foo<int>(int) const: without scopes, template arguments and parameters."""
    name = without_templates(name)
    previous = None
    while previous != name:
        previous, name = name, re.sub(r"\([^()]*\)|\{[^{}]*\}|\[abi:\w+\]", "", name)
    name = re.sub(r"( const| volatile| &+)*$", "", name).split("::")[-1]
    return name if name.startswith("operator ") else name.split(" ")[-1]


class Names:
    """The symbols of a program, to tell aliases."""

    def __init__(self, program):
        self.by_name, self.by_address = {}, {}
        for options in (["-C"], ["-C", "-D"]):
            done = subprocess.run(["nm", *options, "--defined-only", program],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                                  encoding="utf-8", errors="replace")
            for line in done.stdout.splitlines():
                words = line.split(" ", 2)
                if len(words) == 3:
                    name = whole_name(re.sub(r"@.*", "", words[2]))
                    self.by_name.setdefault(name, set()).add(words[0])

    def are_aliases(self, one, other):
        return bool(self.by_name.get(one, set()) & self.by_name.get(other, set()))


def kind_of_name(ours, theirs, names):
    """How two names for one function differ; "" if not at all, None if they are two functions'."""
    if ours == theirs:
        return ""
    one, other = whole_name(ours), whole_name(theirs)
    if one == other:
        return "clone"
    if spelt(one) == spelt(other):
        return "spelling"
    if is_bare(other) and base_name(one) == base_name(other):
        return "bare"
    return "alias" if names.are_aliases(one, other) else None


def compare(ours, theirs, names, with_lines=True):
    """(the same?, the class of the difference or of the names)."""
    if with_lines and len(ours) != len(theirs):
        if len(theirs) == 1 and theirs[0][1:] == ("", 0):
            return False, "peer: no debug information found"
        return False, "inlined calls: %s" % ("fewer" if len(ours) < len(theirs) else "more")
    kinds = set()
    pairs = zip(ours, theirs) if with_lines else [(ours[-1], theirs[-1])]
    for (function, file, line), (their_function, their_file, their_line) in pairs:
        kind = kind_of_name(function, their_function, names)
        if kind is None:
            if their_function == "??":
                return False, "peer: no function"
            return False, "no function" if function == "??" else "function"
        kinds.add(kind)
        if not with_lines:
            continue
        if line != their_line:
            return False, "line" if line and their_line else "line: one has none"
        if line and file != their_file:
            return False, "file"
    return True, " ".join(sorted(kinds - {""})) or "exact"
