"""Which addresses of a program are asked for: random instructions, or what a recording has."""
import random
import re
import subprocess


def functions(program):
    """[start, end) of the functions that the symbols bound, without padding and tables between."""
    done = subprocess.run(["readelf", "-sW", program], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8", errors="replace")
    found = re.findall(r"^ +\d+: ([0-9a-f]+) +(\w+) (?:FUNC|IFUNC|NOTYPE) +\w+ +\w+ +\d+ ",
                       done.stdout, re.M)
    return sorted({(int(start, 16), int(start, 16) + int(size, 0)) for start, size in found})


def text_section(program):
    done = subprocess.run(["readelf", "-SW", program], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8")
    found = re.search(r" \.text\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", done.stdout)
    return int(found.group(1), 16), int(found.group(2), 16)


def inside(addresses, ranges):
    """Those of the ascending addresses that lie in a range."""
    end, position, found = 0, 0, []
    for address in addresses:
        while position < len(ranges) and ranges[position][0] <= address:
            end = max(end, ranges[position][1])
            position += 1
        if address < end:
            found.append(address)
    return found


def instructions(program, count):
    """Where `count` random instructions of functions begin."""
    chance = random.Random(5)
    start, size = text_section(program)
    if size > 32 << 20:  # disassembling that takes minutes
        return sorted({start + chance.randrange(size) for _ in range(count)})
    done = subprocess.run(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", program],
                          stdout=subprocess.PIPE, check=True, encoding="utf-8", errors="replace")
    found = [int(one, 16) for one in re.findall(r"^ +([0-9a-f]+):\t", done.stdout, re.M)]
    return sorted(chance.sample(found, min(count, len(found))))


def random_ones(program, count):
    """Shuffled, so that each beginning is a random choice, too."""
    found = inside(instructions(program, 2 * count), functions(program))
    random.Random(6).shuffle(found)
    return found[:count]


def recorded(tool, recording, program, count):
    done = subprocess.run([tool, recording, program], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8")
    found = sorted({int(one, 16) for one in done.stdout.split()})
    random.Random(6).shuffle(found)
    return found[:count]
