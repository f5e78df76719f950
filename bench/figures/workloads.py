"""Real programs of Debian with inputs made here: the same bytes on every machine."""
import os
import random
import resource
import shutil
import subprocess

from harness import Failed, run

PYTHON_SCRIPT = """
import sys
def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps
words = {}
for n in range(1, int(sys.argv[1])):
    words[str(n)] = collatz(n)
print(max(words.values()), len(sorted(words, key=words.get)))
"""

HEADERS = ("algorithm any array atomic bitset charconv chrono complex condition_variable deque "
           "filesystem forward_list fstream functional future iomanip iostream iterator list locale "
           "map memory mutex numeric optional queue random ranges regex set shared_mutex sstream "
           "stack string string_view thread tuple unordered_map unordered_set valarray variant "
           "vector").split()


def made_text(size):
    """Words of uneven frequency, from a fixed seed."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(5000)]
    text = []
    length = 0
    while length < size:
        word = words[int(5000 * chance.random() ** 3)]
        text.append(word)
        length += len(word) + 1
    return " ".join(text)


def need(name, path=None):
    found = path or shutil.which(name, path="/usr/bin:/bin:/usr/local/bin")
    if not found or not os.path.exists(found):
        raise Failed(name + " is not installed")
    return found


def three_leaves(bench):
    return [bench.target("three_leaves"), str(bench.seconds(10))]


def python3(bench):
    script = bench.file("script.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(PYTHON_SCRIPT)
    return [need("python3"), script, str(bench.count(400_000, 40_000))]


def xz(bench):
    data = bench.file("text")
    with open(data, "w", encoding="utf-8") as out:
        out.write(made_text(bench.count(3_000_000, 300_000)))
    return [need("xz"), "-9", "--keep", "--force", data]


def cpp_source(bench, copies):
    source = bench.file("headers.cpp")
    with open(source, "w", encoding="utf-8") as out:
        out.writelines("#include <%s>\n" % header for header in HEADERS)
        for index in range(copies):
            out.write("struct Key%d { int value; auto operator<=>(const Key%d&) const = default; };\n"
                      "int sort%d(std::vector<std::pair<Key%d, std::string>> rows) {\n"
                      "    std::stable_sort(rows.begin(), rows.end());\n"
                      "    std::map<Key%d, std::string> map(rows.begin(), rows.end());\n"
                      "    return std::regex_search(map.begin()->second, std::regex{\"a*b\"});\n"
                      "}\n" % ((index,) * 5))
    return source


def cpp_source_of(bench, seconds):
    """One that `g++ -O2` compiles in about as many seconds of CPU time on the machine at hand."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    took = []
    for copies in (1, 5):
        source = cpp_source(bench, copies)
        began = spent()
        run([need("g++"), "-std=c++20", "-O2", "-c", "-o", source + ".o", source])
        took.append(spent() - began)
    first, fifth = took
    return cpp_source(bench, max(1, 1 + round((seconds - first) * 4 / (fifth - first))))


def cc1plus(bench):
    source = cpp_source(bench, bench.count(8, 1))
    whole = bench.file("whole.ii")
    run([need("g++"), "-std=c++20", "-E", "-o", whole, source])
    path = run(["g++", "-print-prog-name=cc1plus"]).stdout.decode().strip()
    return [need("cc1plus", path), "-quiet", "-fpreprocessed", "-std=c++20", "-O2", whole, "-o",
            bench.file("whole.s")]


def git(bench):
    """A repository of many commits, by fast-import; the command reads and compares all of them."""
    folder = bench.file("repository")
    program = need("git")
    if not os.path.exists(folder):
        run([program, "init", "--quiet", folder])
        lines = made_text(200_000).split(" ")
        stream = bench.file("stream")
        with open(stream, "w", encoding="utf-8") as out:
            for commit in range(bench.count(3000, 300)):
                name = "folder%d/file%d" % (commit % 7, commit % 40)
                begin = (commit * 37) % (len(lines) - 1500)
                blob = "\n".join(lines[begin:begin + 1200]) + "\n"
                out.write("commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n"
                          "data 5\nwork\nM 644 inline %s\ndata %d\n%s\n"
                          % (1_600_000_000 + commit, name, len(blob), blob))
        with open(stream, "rb") as data:
            subprocess.run([program, "-C", folder, "fast-import", "--quiet"], stdin=data, check=True)
    return [program, "-C", folder, "--no-pager", "log", "-p", "--stat", "-M", "main"]


def openssl(bench):
    algorithms = bench.count(["sha256", "sha512", "aes-128-cbc", "rsa2048", "ecdsap256"],
                             ["sha256", "ecdsap256"])
    return [need("openssl"), "speed", "-seconds", "1", "-bytes", "8192", *algorithms]


ALL = {"three_leaves": three_leaves, "python3": python3, "xz": xz, "cc1plus": cc1plus, "git": git,
       "openssl": openssl}
