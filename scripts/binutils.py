"""What check-handler and check-agent read from ELF files, through binutils."""
import subprocess
import sys


def run(*command):
    """The command's output. Ends the process with 2 when the command fails: nothing was checked then."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stderr}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def undefined_symbols(file):
    """Names that `file` leaves to others. The linker itself makes _GLOBAL_OFFSET_TABLE_."""
    names = {line.split()[-1] for line in run("nm", "--undefined-only", file).splitlines() if line}
    return names - {"_GLOBAL_OFFSET_TABLE_"}


def defined_symbols(file):
    """(type letter, name) of each symbol that `file` defines."""
    return [tuple(line.split()[-2:]) for line in run("nm", "--defined-only", file).splitlines() if line]


def section_names(file):
    lines = run("readelf", "--section-headers", "--wide", file).splitlines()
    return [line.split("]", 1)[1].split()[0] for line in lines
            if line.lstrip().startswith("[") and "NULL" not in line and "Nr]" not in line]


def reasons(file):
    """A list file's entries, each with its reason: `entry  # reason`, lines of `#` alone are comments."""
    entries = {}
    for number, line in enumerate(open(file, encoding="utf-8"), 1):
        entry, _, reason = line.partition("#")
        if entry.strip() and not reason.strip():
            print(f"{file}:{number}: {entry.strip()} has no reason: add it after '#'", file=sys.stderr)
            sys.exit(2)
        if entry.strip():
            entries[entry.strip()] = reason.strip()
    return entries


def report(refused):
    """Prints (rule, detail) pairs on stderr; returns the exit status."""
    for rule, detail in refused:
        print(f"{rule}: {detail}", file=sys.stderr)
    return 1 if refused else 0
