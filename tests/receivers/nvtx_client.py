"""Says things by NVTX from Python: ctypes stands for what bindings have in C."""
import ctypes
import os

CORE = 1
PUSH_A, POP, MARK_A = 9, 11, 2
Function = ctypes.c_void_p

functions = (Function * 16)()
places = (ctypes.POINTER(Function) * 16)(
    *[ctypes.cast(ctypes.byref(functions, i * ctypes.sizeof(Function)), ctypes.POINTER(Function)) for i in range(16)])


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
def get_functions(module, out, count):
    if module != CORE:
        return 0
    out[0] = ctypes.addressof(places)
    count[0] = 16
    return 1


class Callbacks(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("get_functions", type(get_functions))]


callbacks = Callbacks(ctypes.sizeof(Callbacks), get_functions)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
def get_table(number):
    return ctypes.addressof(callbacks) if number == 1 else None


path = os.environ.get("NVTX_INJECTION64_PATH")
if path:
    ctypes.CDLL(path).InitializeInjectionNvtx2(get_table)


def call(number, result, *words):
    if functions[number]:
        return ctypes.CFUNCTYPE(result, *[ctypes.c_char_p] * len(words))(functions[number])(*words)
    return None


for i in range(50):
    call(PUSH_A, ctypes.c_int, b"step")
    for _ in range(i % 3):
        call(PUSH_A, ctypes.c_int, b"part")
        call(POP, ctypes.c_int)
    call(POP, ctypes.c_int)
call(MARK_A, None, b"done")
print("said")
