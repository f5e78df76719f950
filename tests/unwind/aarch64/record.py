#!/usr/bin/env python3
"""Makes the recorded aarch64 programs that the unwinder's tests walk, beside this file.

usage: record.py            (needs g++-aarch64-linux-gnu and qemu-user)

For each build of target.cpp: NAME.elf, the program, and NAME.steps, its life instruction by instruction, as
qemu's debugger interface shows it, with the true stack, which is kept from the calls, returns and signals
that are seen. Tests need neither qemu nor a compiler.

NAME.steps is text. The first line is the range of stack addresses, whose words are zero at first. Then a
line an instruction that is about to be executed, with what changed since the one before, in hexadecimal:

    xN=V      register N by DWARF number: 19 to 30, 31 sp, 32 the pc; scratch registers are left out.
              A pc that is not named is the last one's plus 4.
    ADDR=V    a word of the stack
    cV        a call, which will return to V
    sV        a signal interrupted V
    tV        its handler was called, which will return to V, the trampoline
    p         the innermost frame is gone
"""
import pathlib
import socket
import struct
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COMPILE = ("aarch64-linux-gnu-g++ -std=c++20 -O2 -Wall -Wextra -ffreestanding -fno-exceptions "
           "-fno-stack-protector -fasynchronous-unwind-tables -nostdlib -static -s "
           "-Wl,--build-id=none -Wl,--eh-frame-hdr -Wl,-z,max-page-size=4096").split()
BUILDS = {
    "records": ["-fno-omit-frame-pointer", "-mbranch-protection=none"],
    "signed": ["-fomit-frame-pointer", "-mbranch-protection=pac-ret+b-key+bti"],
}
SP, PC = 31, 32
RESTORER = struct.pack("<II", 0xd2801168, 0xd4000001)  # mov x8, #139; svc #0
RET_X30, RETAA, RETAB = 0xd65f03c0, 0xd65f0bff, 0xd65f0fff
BELOW_SP = 64 * 1024  # The deepest stack is less.
ABOVE_SP = 64  # Something of what the kernel gives a program.
ADDRESS = (1 << 48) - 1


class Debugger:
    """The part of gdb's remote protocol that is needed."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        while self.socket.connect_ex(str(path)) != 0:
            time.sleep(0.05)
        self.buffer = b""

    def ask(self, command):
        checksum = sum(command.encode()) & 0xff
        self.socket.sendall(f"${command}#{checksum:02x}".encode())
        while True:
            start = self.buffer.find(b"$")
            end = self.buffer.find(b"#", start)
            if start >= 0 and end >= 0 and len(self.buffer) >= end + 3:
                answer = self.buffer[start + 1:end].decode("latin-1")
                self.buffer = self.buffer[end + 3:]
                self.socket.sendall(b"+")
                return answer
            received = self.socket.recv(1 << 16)
            if not received:
                return "W00"
            self.buffer += received

    def registers(self):
        return struct.unpack("<33Q", bytes.fromhex(self.ask("g"))[:33 * 8])

    def memory(self, address, size):
        # An answer holds about 2 KB.
        return b"".join(bytes.fromhex(self.ask(f"m{at:x},{min(1024, address + size - at):x}"))
                        for at in range(address, address + size, 1024))

    def step(self, signal=0):
        """The signal that is about to be delivered; None: the program is over."""
        answer = self.ask(f"vCont;S{signal:02x}" if signal else "vCont;s")
        return None if answer[0] in "WX" else int(answer[1:3], 16)


def is_call(word):
    return (word & 0xfc000000) == 0x94000000 or (word & 0xfffffc1f) == 0xd63f0000


def record(name, flags):
    elf = HERE / f"{name}.elf"
    subprocess.run([*COMPILE, *flags, "-o", elf, HERE / "target.cpp"], check=True)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "gdb"
        process = subprocess.Popen(["qemu-aarch64", "-cpu", "max", "-g", str(path), str(elf)])
        lines = follow(Debugger(path))
        process.wait()
    (HERE / f"{name}.steps").write_text("\n".join(lines) + "\n")
    print(name, elf.stat().st_size, "bytes,", len(lines) - 1, "steps")


def follow(debugger):
    debugger.ask("?")
    registers = debugger.registers()
    high = registers[SP] + ABOVE_SP
    low = registers[SP] - BELOW_SP
    lines = [f"{low:x} {high:x}"]
    image = bytearray(high - low)
    known = [0] * 33
    depth = []  # What ends each frame: the address that is returned to, with the sp.
    events = []
    while True:
        line = events
        events = []
        for number in range(19, 33):
            expected = known[number] + 4 if number == PC else known[number]
            if registers[number] != expected:
                line.append(f"x{number}={registers[number]:x}")
        known = list(registers)
        # Only what is at or above sp is written by a program without a red zone.
        begin = max(low, registers[SP] - 128)
        now = debugger.memory(begin, high - begin)
        for at in range(0, len(now), 8):
            offset = begin - low + at
            if now[at:at + 8] != image[offset:offset + 8]:
                line.append(f"{begin + at:x}={int.from_bytes(now[at:at + 8], 'little'):x}")
                image[offset:offset + 8] = now[at:at + 8]
        lines.append(" ".join(line))

        pc = registers[PC]
        word = int.from_bytes(debugger.memory(pc, 4), "little")
        signal = debugger.step()
        if signal is None:
            return lines
        if signal != 5:
            # The instruction was executed; the next stop is the handler's first.
            interrupted = debugger.registers()[PC]
            debugger.step(signal)
            registers = debugger.registers()
            depth += [("signal", interrupted), ("call", registers[30] & ADDRESS)]
            events = [f"s{interrupted:x}", f"t{registers[30] & ADDRESS:x}"]
            continue
        registers = debugger.registers()
        if is_call(word):
            depth.append(("call", pc + 4))
            events = [f"c{pc + 4:x}"]
        elif word in (RET_X30, RETAA, RETAB):
            assert depth.pop() == ("call", registers[PC]), "a return that is none"
            events = ["p"]
        elif word == 0xd4000001 and debugger.memory(pc - 4, 8) == RESTORER:
            # qemu stops one instruction late.
            kind, interrupted = depth.pop()
            assert kind == "signal" and registers[PC] in (interrupted, interrupted + 4)
            events = ["p"]


for build, options in BUILDS.items():
    record(build, options)
