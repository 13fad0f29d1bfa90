"""Programs that do to their process what programs do, good and bad: a name, a source, how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Odd(NamedTuple):
    """A program, and what its process is given."""

    name: str
    source: str
    environment: Mapping[str, str] = {}
    given: bytes = b""
    shell: str = ""
    """What a shell does with its file descriptors: ``>/dev/full``."""
    files: Mapping[str, str] = {}
    """What lies beside it."""
    arguments: tuple[str, ...] = ()


PLAIN: list[Odd] = []
"""Compared with Python."""

TORCH: list[Odd] = []
"""Compared with PyTorch."""


def _read(text: str, into: list[Odd]) -> None:
    for part in text.split("\n## ")[1:]:
        head, _, source = part.partition("\n")
        into.append(Odd(head, source))


_read(
    """
## the type of sys.stdout
import io, sys
for s in (sys.stdout, sys.stderr, sys.stdin, sys.__stdout__):
    print(type(s), type(s) is io.TextIOWrapper, isinstance(s, io.TextIOWrapper), s.encoding, s.errors, s.name, s.mode)
    print(s.line_buffering, s.write_through, s.newlines, s.closed, s.isatty(), s.fileno(), repr(s))
print(sys.stdout is sys.__stdout__, type(sys.stdout.buffer), type(sys.stdout.buffer.raw))

## what can be done with sys.stdout
import sys
sys.stdout.writelines(["a\\n", "b\\n"])
sys.stdout.buffer.write(b"bytes \\xff first\\n")
print("text later")
sys.stdout.flush()
sys.stdout.reconfigure(encoding="latin-1", errors="replace", line_buffering=True)
print("\\xe4 \\u20ac", sys.stdout.encoding)
print("x", file=sys.__stdout__)
print("y", file=sys.stderr)
print(sys.stdout.write("four"), sys.stdout.seekable(), sys.stdout.writable(), sys.stdout.readable())

## text in the wrong type
import sys
sys.stdout.write(b"bytes")

## stdout put aside and back
import contextlib, io, sys
held = io.StringIO()
with contextlib.redirect_stdout(held):
    print("held")
print(repr(held.getvalue()), sys.stdout is sys.__stdout__)

## stdout of one's own
import sys
class Loud:
    def write(self, text): return sys.__stdout__.write(text.upper())
    def flush(self): sys.__stdout__.flush()
sys.stdout = Loud()
print("left so at the end")

## stdout detached
import sys
raw = sys.stdout.detach()
raw.write(b"by hand\\n")
raw.flush()

## stdout closed
import sys
print("before")
sys.stdout.close()
print("after")

## stderr closed
import sys
sys.stderr.close()
raise ValueError("nobody hears")

## descriptor 1 closed
import os
print("lost")
os.close(1)

## descriptor 1 closed after a flush
import os, sys
print("kept", flush=True)
os.close(1)
sys.exit(3)

## stdout None
import sys
sys.stdout = None
print("nothing")
raise SystemExit(4)

## descriptors duplicated
import os, sys
print("one", flush=True)
saved = os.dup(1)
os.dup2(2, 1)
print("two", flush=True)
os.dup2(saved, 1)
os.write(1, b"three\\n")

## a subprocess writes
import subprocess, sys
print("first", flush=True)
subprocess.run([sys.executable, "-c", "print('second')"], check=True)
print("third")

## a subprocess writes before what is not flushed
import subprocess
print("printed first, comes last")
subprocess.run(["echo", "echoed"], check=True)

## an excepthook of its own
import sys
def hook(kind, value, tb):
    print("hooked", kind.__name__, value, tb.tb_lineno, tb.tb_frame.f_code.co_name, tb.tb_next.tb_next is None)
sys.excepthook = hook
def f(): raise KeyError("k")
f()

## an excepthook that raises
import sys
def hook(kind, value, tb):
    raise RuntimeError("in the hook")
sys.excepthook = hook
raise KeyError("k")

## an excepthook that exits
import sys
def hook(kind, value, tb):
    sys.exit(9)
sys.excepthook = hook
raise KeyError("k")

## an excepthook that is deleted
import sys
del sys.excepthook
raise KeyError("k")

## a traceback through functions
def f(n):
    if n == 0:
        raise ValueError("at the bottom")
    f(n - 1)
f(3)

## a traceback of a lambda and a generator
g = lambda n: 1 / n
def h():
    yield from (g(n) for n in (1, 0))
print(list(h()))

## a traceback with positions
x = {"a": {"b": None}}
y = x["a"]["b"]["c"] + x["a"]["d"]

## a cause
try:
    {}["missing"]
except KeyError as error:
    raise ValueError("caused") from error

## a context
try:
    {}["missing"]
except KeyError:
    int("no number")

## no context
try:
    {}["missing"]
except KeyError:
    raise ValueError("alone") from None

## notes
error = ValueError("noted")
error.add_note("one")
error.add_note("two\\nlines")
raise error

## a group
def f(n):
    raise TypeError(n)
found = []
for n in range(2):
    try:
        f(n)
    except TypeError as error:
        found.append(error)
raise ExceptionGroup("several", found)

## str that raises
class Bad(Exception):
    def __str__(self):
        raise RuntimeError("no text")
raise Bad("x")

## str that is no string
class Bad(Exception):
    def __str__(self):
        return 3
raise Bad("x")

## repr that raises, in a KeyError
class Bad:
    def __repr__(self):
        raise RuntimeError("no repr")
raise KeyError(Bad())

## an error of many lines
raise ValueError("first\\nsecond\\n\\nlast")

## an error in a class body
class A:
    x = 1
    y = undefined

## a name misspelt
class A:
    size = 3
A().sise

## an error that commands a terminal
raise ValueError("\\x1b[31mred\\x1b[0m \\x07 \\u202e")

## a base exception
class Stop(BaseException):
    pass
raise Stop("now")

## GeneratorExit
raise GeneratorExit("odd")

## a syntax error raised by hand
compile("x = (", "made.py", "exec")

## a syntax error in a module
import broken

## assert
assert 1 == 2, "not so"

## KeyboardInterrupt raised
raise KeyboardInterrupt("by hand")

## KeyboardInterrupt caught
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(10**7): pass
except KeyboardInterrupt:
    print("caught")

## KeyboardInterrupt of a class of its own
class Mine(KeyboardInterrupt):
    pass
raise Mine

## Ctrl+C
import os, signal
print("so far")
os.kill(os.getpid(), signal.SIGINT)
for _ in range(1000): pass

## SIGTERM
import os, signal, sys
print("lost, as it is not flushed")
print("flushed", file=sys.stderr)
os.kill(os.getpid(), signal.SIGTERM)
for _ in range(1000): pass

## SIGHUP
import os, signal
os.kill(os.getpid(), signal.SIGHUP)
for _ in range(1000): pass

## SIGTERM handled
import os, signal, sys
print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP))
def handler(number, frame):
    print("handled", number, frame.f_lineno)
    sys.exit(5)
print(signal.signal(signal.SIGTERM, handler))
os.kill(os.getpid(), signal.SIGTERM)
for _ in range(1000): pass

## SIGTERM handled for a while
import os, signal, time
before = signal.signal(signal.SIGTERM, lambda *_: print("mine"))
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(0)
print(before)
signal.signal(signal.SIGTERM, before)
os.kill(os.getpid(), signal.SIGTERM)
for _ in range(1000): pass

## SIGKILL
import os, signal
print("so far", flush=True)
os.kill(os.getpid(), signal.SIGKILL)

## SIGUSR1
import os, signal
os.kill(os.getpid(), signal.SIGUSR1)

## abort
import os
os.abort()

## SIGPIPE is ignored
import os, signal
print(signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM))

## exit with a number
import sys
sys.exit(7)

## exit with None
import sys
sys.exit(None)

## exit with text
import sys
print("out")
sys.exit("a message")

## exit with a big number
import sys
sys.exit(1 << 40)

## exit with a negative number
import sys
sys.exit(-1)

## exit with True
import sys
sys.exit(True)

## exit with a tuple
import sys
sys.exit((1, 2))

## exit with a float
raise SystemExit(2.5)

## exit with text that cannot be made
import sys
class Bad:
    def __str__(self):
        raise RuntimeError("no text")
sys.exit(Bad())

## exit with an int of its own
class Five(int):
    pass
raise SystemExit(Five(5))

## exit by the site's function
exit(6)

## quit
quit("bye")

## exit in a function, under finally
import sys
def f():
    try:
        sys.exit(3)
    finally:
        print("finally")
f()

## os._exit
import os
print("lost, as it is not flushed")
os._exit(5)

## os._exit after a flush
import os, sys
print("kept")
sys.stdout.flush()
os._exit(6)

## os._exit in a thread
import os, threading
t = threading.Thread(target=lambda: os._exit(8))
t.start()
t.join()

## atexit
import atexit, sys
atexit.register(print, "first registered, last called")
@atexit.register
def bye():
    print("bye", sys.modules["__main__"].bye is bye)
print("main")

## atexit after an exception
import atexit
atexit.register(lambda: print("bye"))
raise ValueError("x")

## atexit that raises
import atexit
def bad(): raise ValueError("in atexit")
atexit.register(bad)
atexit.register(print, "second")

## atexit that exits
import atexit, sys
atexit.register(print, "called all the same")
atexit.register(sys.exit, 5)

## atexit unregistered
import atexit
def f(): print("no")
atexit.register(f)
atexit.unregister(f)
atexit.register(f)
atexit.unregister(f)
print(atexit._ncallbacks() >= 0)

## a thread that outlives the program
import threading, time
def work():
    time.sleep(0.2)
    print("late")
threading.Thread(target=work).start()
print("main over")

## a thread that outlives the program, and atexit
import atexit, threading, time
def work():
    time.sleep(0.2)
    print("late")
atexit.register(print, "last")
threading.Thread(target=work).start()
raise ValueError("main over")

## a daemon thread
import threading, time
def work():
    while True:
        time.sleep(0.01)
threading.Thread(target=work, daemon=True).start()
print("main over")

## an executor that is not shut down
import concurrent.futures, time
pool = concurrent.futures.ThreadPoolExecutor(2)
pool.submit(lambda: (time.sleep(0.2), print("late")))
print("main over")

## an exception in a thread
import threading
def work(): raise ValueError("in a thread")
t = threading.Thread(target=work, name="worker")
t.start()
t.join()
print("main goes on")

## threading.excepthook
import threading
threading.excepthook = lambda args: print("hooked", args.exc_type.__name__, args.exc_value, args.thread.name)
t = threading.Thread(target=lambda: 1 / 0, name="worker")
t.start()
t.join()

## an exception in __del__
class A:
    def __del__(self):
        raise ValueError("in del")
a = A()
del a
print("on")

## sys.unraisablehook
import sys
sys.unraisablehook = lambda u: print("unraisable", u.exc_type.__name__, u.exc_value)
class A:
    def __del__(self):
        raise ValueError("in del")
a = A()
del a

## __del__ at the end
class A:
    def __del__(self):
        print("deleted")
a = A()
print("main over")

## recursion
def f(n):
    return f(n + 1)
f(0)

## recursion that is caught
def f(n):
    try:
        return f(n + 1)
    except RecursionError:
        return n
print(f(0) > 900)
print("on")

## recursion just within the limit
import sys
print(sys.getrecursionlimit())
def f(n):
    return n if n == 0 else f(n - 1)
print(f(990))

## recursion with a limit of its own
import sys
sys.setrecursionlimit(2000)
def f(n):
    return n if n == 0 else 1 + f(n - 1)
print(f(1500), sys.getrecursionlimit())

## settrace
import sys
seen = []
def tracer(frame, event, arg):
    seen.append((frame.f_code.co_name, event, frame.f_lineno))
    return tracer
def f():
    x = 1
    return x
sys.settrace(tracer)
f()
sys.settrace(None)
print([s for s in seen if s[0] == "f"][:3])

## setprofile
import sys
seen = []
def f(): return 1
sys.setprofile(lambda frame, event, arg: seen.append((frame.f_code.co_name, event)))
f()
sys.setprofile(None)
print([s for s in seen if s[0] == "f"])

## warnings
import warnings
warnings.warn("look out")
def f(): warnings.warn("deeper", DeprecationWarning, stacklevel=2)
f()
warnings.simplefilter("error")
warnings.warn("raised")

## options for warnings
import sys, warnings
print(sys.warnoptions, sys.flags.dev_mode)
warnings.warn('one')

## pickling of __main__
import pickle
class A:
    def __init__(self, x): self.x = x
def f(): return 3
print(pickle.loads(pickle.dumps(A(2))).x, pickle.loads(pickle.dumps(f))(), pickle.dumps(A).count(b"__main__"))

## the main guard
def main():
    print("main")
if __name__ == "__main__":
    main()

## what __main__ is
import sys, __main__
print(__name__, __package__, __spec__, __doc__, sorted(vars(__main__)))
print(type(__loader__).__name__, __builtins__, sys.argv, __file__ == sys.argv[0] or __file__.endswith(sys.argv[0]))
print(sys.orig_argv[0] != "", sys.path[0] == __file__.rpartition("/")[0], sys.flags.optimize)

## what modules are there
import sys
print([n for n in ("torch", "click", "textual", "rich", "torch.nn") if n in sys.modules and n == "torch"])

## input
name = input("name? ")
print("hello", name)
print(repr(input()))
input()

## all of stdin
import sys
print(repr(sys.stdin.read()), sys.stdin.encoding)
print(repr(sys.stdin.readline()))

## huge output
for n in range(20000):
    print("line", n, "x" * 80)

## one huge line
print("x" * 5_000_000)

## chdir
import os, tempfile
os.chdir(tempfile.gettempdir())
import beside
print(beside.WORD, os.path.isabs(__file__))

## chdir into a folder that goes away
import os, tempfile
there = tempfile.mkdtemp()
os.chdir(there)
os.rmdir(there)
print("gone")
raise ValueError("from nowhere")

## a module beside it
import beside
from beside import WORD
print(WORD, beside.__name__, beside.f())

## a module beside it that raises
import beside
beside.g()

## a relative import
from . import beside

## a script that deletes itself
import os
os.unlink(__file__)
raise ValueError("who am I")

## arguments
import sys
print(sys.argv[1:])

## the environment
import os
print({k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "_", "SHLVL", "PWD", "OLDPWD")})

## lone surrogates printed
print("so far")
print("\\udc80")

## lone surrogates printed, escaped
import sys
sys.stdout.reconfigure(errors="surrogateescape")
print("\\udc80|")
print(ascii("\\udc80"))

## lone surrogates in an error
raise ValueError("\\udc80 and \\ud800")

## umlauts
print("\\xe4\\xf6\\u20ac")

## umlauts in an error
raise ValueError("\\xe4\\xf6\\u20ac")

## NUL bytes
print("a\\0b")

## carriage returns
print("10%\\r20%\\r30%", end="")

## asyncio
import asyncio
async def main():
    await asyncio.sleep(0)
    print("in")
    raise ValueError("in a task")
asyncio.run(main())

## unawaited
async def f(): pass
f()
print("on")

## a resource that is not closed
open(__file__)
print("on")

## faulthandler
import faulthandler
print(faulthandler.is_enabled())

## gc
import gc
print(gc.isenabled(), gc.get_threshold(), gc.get_debug())

## locals and globals
def f():
    a = 1
    return sorted(locals())
print(f(), sorted(k for k in globals() if not k.startswith("__")))

## the source of functions
import inspect
def f():
    return 1  # a comment
print(inspect.getsource(f))
print(f.__code__.co_filename == __file__, f.__code__.co_firstlineno)

## traceback in a handler
import traceback
def f(): 1 / 0
try:
    f()
except ZeroDivisionError:
    traceback.print_exc()

## logging
import logging
logging.warning("careful")
logging.basicConfig(level=logging.INFO)
logging.info("told")

## exec of another program
import os, sys
print("before", flush=True)
os.execv(sys.executable, [sys.executable, "-c", "print('instead')"])

## fork
import os
print("before", flush=True)
pid = os.fork()
if pid == 0:
    print("child", flush=True)
    os._exit(3)
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

## fork whose child runs to the end
import os, sys
print("before", flush=True)
pid = os.fork()
if pid:
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
else:
    print("child")

## fork whose child raises
import os, sys
pid = os.fork()
if pid:
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
else:
    raise ValueError("in the child")

## fork whose child exits
import os, sys
pid = os.fork()
if pid:
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
else:
    sys.exit(11)

## fork with what is not flushed
import os
print("twice")
pid = os.fork()
if pid:
    os.waitpid(pid, 0)

## fork whose child is terminated
import os, signal
pid = os.fork()
if pid:
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
else:
    os.kill(os.getpid(), signal.SIGTERM)
    while True: pass

## multiprocessing by fork
import multiprocessing
def work(n):
    return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(5)))

## multiprocessing by spawn
import multiprocessing
def work(n):
    return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, range(5)))

## multiprocessing by forkserver
import multiprocessing
def work(n):
    return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        print(pool.map(work, range(5)))

## what a child process has
import os, subprocess, sys
subprocess.run([sys.executable, "-c", "import sys; print(sys.path[1:], [m for m in sys.modules if 'site' in m])"])
""",
    PLAIN,
)

_BESIDE = {
    "beside.py": "WORD = 'word'\ndef f(): return __file__[-9:]\ndef g():\n    raise ValueError('beside')\n",
    "broken.py": "x = (\n",
}
_GIVEN = "J\xf6rg\nsecond line\n".encode()
PLAIN[:] = [odd._replace(given=_GIVEN, files=_BESIDE, arguments=("--lr", "3", "-o", "x")) for odd in PLAIN]


def _also(name: str, **changes: object) -> None:
    """The same program, run in another way."""
    by_name = {odd.name: odd for odd in PLAIN}
    how = " ".join(f"{key}={value}" for key, value in changes.items())
    PLAIN.append(by_name[name]._replace(name=f"{name}, {how}", **changes))  # type: ignore[arg-type]


for _name in ("umlauts", "the type of sys.stdout", "umlauts in an error", "lone surrogates printed", "input"):
    _also(_name, environment={"PYTHONIOENCODING": "latin-1"})
    _also(_name, environment={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
for _name in ("umlauts", "exit with a number", "a cause", "what can be done with sys.stdout", "huge output", "input"):
    _also(_name, shell=">/dev/full")
    _also(_name, shell=">&-")
    _also(_name, shell="2>&-")
for _name in ("umlauts", "a cause"):
    _also(_name, shell="2>/dev/full")
    _also(_name, shell="<&-")
for _name in ("warnings", "options for warnings", "a resource that is not closed"):
    _also(_name, environment={"PYTHONWARNINGS": "error"})
    _also(_name, environment={"PYTHONWARNINGS": "default"})
_also("an error in a class body", environment={"PYTHONUNBUFFERED": "1"})
_also("a subprocess writes before what is not flushed", environment={"PYTHONUNBUFFERED": "1"})
_also("the type of sys.stdout", environment={"PYTHONUNBUFFERED": "1"})
_also("atexit", environment={"PYTHONDEVMODE": "1"})
_also("SIGHUP", shell="trap '' HUP;")

_read(
    """
## memory that is not there
import torch
torch.empty(10**15)

## memory that is not there, caught
import torch
try:
    torch.zeros(10**15)
except RuntimeError as error:
    print(str(error).partition("(")[0], "DefaultCPUAllocator" in str(error))
for make in (torch.ones, torch.rand, torch.empty):
    try:
        make(10**6, 10**8)
    except RuntimeError as error:
        print(type(error).__name__, str(error))

## more memory than can be counted
import torch
for sizes in ((2**62, 4), (2**63,), (-1,), (2**40, 2**40)):
    try:
        torch.empty(sizes)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0][:60])

## an expanded tensor made whole
import torch
torch.zeros(1).expand(10**15).contiguous()

## memory asked for by an operator
import torch
x = torch.zeros(1).expand(10**14)
try:
    x + 1
except RuntimeError as error:
    print(error)
try:
    torch.arange(10**14)
except RuntimeError as error:
    print(error)
try:
    x.new_zeros(10**14)
except RuntimeError as error:
    print(error)

## a leaf changed in place
import torch
x = torch.zeros(2, requires_grad=True)
print("so far")
x.add_(1)

## a backward twice
import torch
x = torch.ones(2, requires_grad=True)
y = (x * x).sum()
y.backward()
y.backward()

## an error in a hook
import torch
x = torch.ones(2, requires_grad=True)
def hook(grad):
    raise KeyError("in the hook")
x.register_hook(hook)
(x * 2).sum().backward()

## an error in a module
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.l(x)
Net()(torch.zeros(4, 5))

## an error in a Function
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        raise ValueError("in backward")
F.apply(torch.ones(1, requires_grad=True)).backward()

## shapes that do not fit, while handling
import torch
try:
    torch.zeros(2) + torch.zeros(3)
except RuntimeError:
    torch.zeros(2).view(5)

## an attribute that is missing
import torch
torch.zeros(2).sise

## a warning of PyTorch
import torch
x = torch.tensor(torch.ones(2))
y = torch.ones(2, requires_grad=True) * 2
y.grad
print(x)

## a warning made an error
import torch, warnings
warnings.simplefilter("error")
torch.tensor(torch.ones(2))

## a tensor as a status
import sys, torch
sys.exit(torch.tensor(3))

## a tensor in an error
import torch
raise ValueError(torch.ones(2), torch.zeros(1))

## tensors at exit
import atexit, torch
x = torch.ones(3, requires_grad=True)
@atexit.register
def last():
    x.sum().backward()
    print(x.grad)

## tensors in a thread that outlives
import threading, time, torch
def work():
    time.sleep(0.2)
    print(torch.ones(2) * 3)
threading.Thread(target=work).start()

## tensors and recursion
import torch
def f(x, n):
    return x if n == 0 else f(x + 1, n - 1)
print(f(torch.zeros(1), 940))

## tensors until the recursion ends
import torch
def f(x):
    return f(x + 1)
try:
    f(torch.zeros(1))
except RecursionError as error:
    print(type(error).__name__)
print(torch.ones(2) + 1)

## Ctrl+C in the middle
import os, signal, torch
x = torch.ones(2, requires_grad=True)
def hook(grad):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
x.register_hook(hook)
(x * 2).sum().backward()

## tensors in forked children
import os, torch
x = torch.ones(2, requires_grad=True)
pid = os.fork()
y = (x * 2).sum()
y.backward()
if pid:
    os.waitpid(pid, 0)
print("child" if pid == 0 else "parent", x.grad, flush=True)

## tensors in spawned children
import multiprocessing, torch
def work(n):
    x = torch.ones(n, requires_grad=True)
    (x * 2).sum().backward()
    return x.grad.tolist()
if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(work, [1, 2]))

## tensors in a subprocess
import subprocess, sys
program = "import torch, functorch; print(torch.ones(2) + 1, torch.nn.Linear.__name__)"
print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)

## tensors printed as bytes
import sys, torch
sys.stdout.buffer.write(str(torch.ones(2)).encode())

## a pickled module of __main__
import io, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(1, 1, bias=False)
held = io.BytesIO()
torch.save(Net(), held)
held.seek(0)
print(type(torch.load(held, weights_only=False)).__name__)
""",
    TORCH,
)
