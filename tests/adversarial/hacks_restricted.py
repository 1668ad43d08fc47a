"""Programs that try to get what RestrictedPython's policy keeps from them, and print ESCAPED only when they have it.

Each begins with a line `#### name`. On plain Python all get it, but for those whose name ends in `(policy)`, which are
about the policy's own parts.
"""

TEXT = r"""
#### class of a tuple
print("ESCAPED", ().__class__.__base__.__subclasses__()[0])
#### globals of a function
def f(): pass
f.__globals__["__builtins__"]
print("ESCAPED")
#### closure cell
def f(x): return lambda: x
f(1).__closure__[0].cell_contents
print("ESCAPED")
#### code object
(lambda: 1).__code__.co_consts
print("ESCAPED")
#### import os
import os
print("ESCAPED", os.getpid())
#### import builtins
import builtins
print("ESCAPED", builtins.open)
#### from os import path
from os import path
print("ESCAPED")
#### star import
from math import *
print("ESCAPED", sin)
#### dunder import
__import__("os")
print("ESCAPED")
#### open
open("/etc/passwd")
print("ESCAPED")
#### eval
eval("print('ESCAPED')")
#### eval under another name
e = eval
e("print('ESCAPED')")
#### exec
exec("print('ESCAPED')")
#### compile
compile("1", "x", "eval")
print("ESCAPED")
#### globals
print("ESCAPED", globals()["__name__"])
#### vars
class A:
    def __init__(self): self.x = 1
print("ESCAPED", vars(A()))
#### dir
print("ESCAPED", dir([]))
#### locals
print("ESCAPED", locals())
#### builtins variable
print("ESCAPED", __builtins__)
#### loader variable
print("ESCAPED", __loader__)
#### spec in a dict of names
print("ESCAPED" if __spec__ is None or True else "")
#### getattr with a dunder
getattr((), "__class__")
print("ESCAPED")
#### getattr with a default
print("ESCAPED" if getattr((), "__class__", None) is not None else "")
#### getattr with a str subclass
class S(str):
    def startswith(self, *a): return False
print("ESCAPED", getattr((), S("__class__")))
#### getattr through map
print("ESCAPED", list(map(getattr, [()], ["__class__"])))
#### getattr through partial
from functools import partial
print("ESCAPED", partial(getattr, ())("__class__"))
#### getattr through reduce
from functools import reduce
print("ESCAPED", reduce(getattr, ["__class__", "__base__"], ()))
#### hasattr tells
print("ESCAPED" if hasattr((), "__class__") else "")
#### setattr on a builtin class
class A: pass
setattr(A, "__getattribute__", lambda s, n: 1)
print("ESCAPED")
#### delattr with a dunder
class A: __slots__ = ()
delattr(A, "__slots__")
print("ESCAPED")
#### attrgetter
from operator import attrgetter
print("ESCAPED", attrgetter("__class__")(()))
#### methodcaller
from operator import methodcaller
print("ESCAPED", methodcaller("__dir__")(()))
#### operator as a module
import operator
print("ESCAPED", operator.attrgetter("__class__")(()))
#### CVE-2023-37271 generator frame
g = (g.gi_frame.f_back for x in [1])
for f in g: print("ESCAPED", f)
#### generator frame by getattr
def gen():
    yield 1
print("ESCAPED", getattr(gen(), "gi_" + "frame"))
#### generator code by getattr
def gen():
    yield 1
print("ESCAPED", getattr(gen(), "gi_code"))
#### coroutine frame
async def f(): pass
c = f()
print("ESCAPED", c.cr_frame)
c.close()
#### asynchronous generator frame
async def f(): yield 1
print("ESCAPED", f().ag_frame)
#### CVE-2023-41039 str.format
print("ESCAPED", "{0.__class__}".format(()))
#### format with globals of a function
def f(): pass
print("ESCAPED", "{0.__globals__}".format(f))
#### format_map
print("ESCAPED", "{a.__class__}".format_map({"a": ()}))
#### unbound format
print("ESCAPED", str.format("{0.__class__}", ()))
#### unbound format mapped
print("ESCAPED", list(map(str.format, ["{0.__class__}"], [()])))
#### format of a subclass
class S(str): pass
print("ESCAPED", S("{0.__class__}").format(()))
#### unbound format of a subclass
class S(str): pass
print("ESCAPED", S.format("{0.__class__}", ()))
#### format by super
class S(str):
    def f(self, x): return super().format(x)
print("ESCAPED", S("{0.__class__}").f(()))
#### format by super with arguments
class S(str): pass
print("ESCAPED", super(S, S("{0.__class__}")).format(()))
#### format by getattr
print("ESCAPED", getattr("{0.__class__}", "format")(()))
#### format by an instance's pattern
class S(str): pass
match S("{0.__class__}"):
    case str(format=f):
        print("ESCAPED", f(()))
#### format by match_args
from dataclasses import dataclass
@dataclass(init=False)
class S(str):
    format: object
match S("{0.__class__}"):
    case S(f):
        print("ESCAPED", f(()))
#### format by an augmented assignment
class X:
    def __radd__(self, f): print("ESCAPED", f(())); return 1
class S(str): pass
s = S("{0.__class__}")
s.format += X()
#### format by comparing data classes
from dataclasses import dataclass
class Spy:
    def __eq__(self, other): print("ESCAPED", other(())); return True
@dataclass(init=False)
class S(str):
    format: object
a, b = S("{0.__class__}"), S("{0.__class__}")
b.format = Spy()
a == b
#### format by asdict
from dataclasses import dataclass, asdict
@dataclass(init=False)
class S(str):
    format: object
print("ESCAPED", asdict(S("{0.__class__}"))["format"](()))
#### format by astuple
from dataclasses import dataclass, astuple
@dataclass(init=False)
class S(str):
    format: object
print("ESCAPED", astuple(S("{0.__class__}"))[0](()))
#### format by a value pattern
class Spy:
    def __eq__(self, f): print("ESCAPED", f("{0.__class__}", ())); return True
match Spy():
    case str.format: pass
#### format by UserString
from collections import UserString
print("ESCAPED", UserString("{0.__class__}").format(()))
#### format through lru_cache of a class
from functools import lru_cache
print("ESCAPED", lru_cache(str).format("{0.__class__}", ()))
#### format through a typing alias
from typing import Generic, TypeVar
T = TypeVar("T")
class S(str, Generic[T]): pass
print("ESCAPED", S[int].format("{0.__class__}", ()))
#### CVE-2024-47532 string.Formatter
import string
print("ESCAPED", string.Formatter().format("{0.__class__}", ()))
#### Formatter by from
from string import Formatter
print("ESCAPED", Formatter().get_field("0.__class__", ((),), {}))
#### Template
from string import Template
print("ESCAPED", Template.pattern)
#### CVE-2024-47532 the string module by AttributeError.obj
import string
try:
    string.nothing
except AttributeError as e:
    print("ESCAPED", e.obj.Formatter)
#### AttributeError.obj by getattr
try:
    ().nothing
except AttributeError as e:
    print("ESCAPED", getattr(e, "obj"))
#### AttributeError.obj by a pattern
try:
    ().nothing
except AttributeError as e:
    match e:
        case AttributeError(obj=o): print("ESCAPED", o)
#### AttributeError.obj by a registered class
from abc import ABC
from dataclasses import dataclass
@dataclass
class P(ABC):
    obj: object
P.register(AttributeError)
try:
    ().nothing
except AttributeError as e:
    match e:
        case P(o): print("ESCAPED", o)
#### AttributeError.obj by a subclass
from dataclasses import dataclass, asdict
@dataclass(init=False)
class E(AttributeError):
    obj: object
e = E()
print("ESCAPED", asdict(e))
#### CVE-2025-22153 except star
try:
    raise ExceptionGroup("x", [ValueError(1)])
except* ValueError as e:
    print("ESCAPED", e)
#### except star with a class that lies
class E(Exception):
    def split(self, kind): return (self, None)
try:
    try:
        raise ExceptionGroup("x", [E()])
    except* E as e:
        print("ESCAPED", e)
except TypeError: pass
#### traceback of an exception
try:
    1 / 0
except ZeroDivisionError as e:
    print("ESCAPED", e.__traceback__.tb_frame)
#### traceback in exit
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        print("ESCAPED", tb.tb_frame.f_globals)
        return True
with C(): 1 / 0
#### traceback in exit by getattr
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        print("ESCAPED", getattr(tb, "tb_frame"))
        return True
with C(): 1 / 0
#### traceback in exit by a pattern
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        match tb:
            case object(tb_frame=f): print("ESCAPED", f)
        return True
with C(): 1 / 0
#### traceback in exit by match_args
class P:
    __match_args__ = ("tb_frame",)
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb): print("ESCAPED"); return True
with C(): 1 / 0
#### traceback's type registered
from abc import ABC
from dataclasses import dataclass
@dataclass
class P(ABC):
    tb_frame: object
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        P.register(type(tb))
        match tb:
            case P(f): print("ESCAPED", f)
        return True
with C(): 1 / 0
#### traceback's type
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        print("ESCAPED", type(tb))
        return True
with C(): 1 / 0
#### type of type
print("ESCAPED", type(int)("X", (), {"__getattribute__": lambda s, n: 1}))
#### type with three arguments
print("ESCAPED", type("X", (), {}))
#### metaclass
class M(type): pass
print("ESCAPED", M)
#### metaclass keyword
class M:
    def __init__(self, name, bases, names): self.names = names
class X(metaclass=M): pass
print("ESCAPED", X.names)
#### an instance as a base
class M:
    def __init__(self, *a): print("ESCAPED", a) if a else None
class X(M()): pass
#### a function as a base (policy)
class X(len): pass
print("ESCAPED")
#### ABCMeta called
from abc import ABCMeta
print("ESCAPED", ABCMeta("X", (), {"__getattribute__": lambda s, n: 1}))
#### ABCMeta by the type of ABC
from abc import ABC
print("ESCAPED", type(ABC)("X", (), {}))
#### EnumMeta by the type of Enum
from enum import Enum
print("ESCAPED", type(Enum).mro(type(Enum)))
#### Enum by names
from enum import Enum
E = Enum("E", {"__call__": lambda self: 1, "A": 2})
print("ESCAPED", E)
#### IntFlag by names
from enum import IntFlag
print("ESCAPED", IntFlag("E", ["A"]))
#### Enum by names through a subclass
from enum import Enum
class B(Enum): pass
print("ESCAPED", B("E", names=["A"]))
#### mro
print("ESCAPED", int.mro())
#### mro by getattr
print("ESCAPED", getattr(bool, "mro")())
#### getattribute in a class
class A:
    def __getattribute__(self, name): return 1
print("ESCAPED", A().x)
#### getattr in a class
class A:
    def __getattr__(self, name): return 1
print("ESCAPED", A().x)
#### setattr in a class
class A:
    def __setattr__(self, name, value): print("ESCAPED", name)
A().x = 1
#### class attribute in a class
class A:
    __class__ = int
print("ESCAPED", A().__class__)
#### reduce in a class
class A:
    def __reduce_ex__(self, n): return (print, ("ESCAPED",))
import copy
copy.copy(A())
#### reduce by assignment
class A:
    __reduce__ = lambda self: (print, ("ESCAPED",))
import copy
copy.copy(A())
#### del in a class
class A:
    def __del__(self): print("ESCAPED")
A()
#### init_subclass in a class
class A:
    def __init_subclass__(cls): print("ESCAPED")
class B(A): pass
#### set_name in a class
class A:
    def __set_name__(self, owner, name): print("ESCAPED", owner)
class B:
    a = A()
#### new in a class
class A:
    def __new__(cls): print("ESCAPED"); return 1
A()
#### instancecheck in a class
class A:
    def __instancecheck__(self, o): print("ESCAPED"); return True
isinstance(1, A())
#### a name for a special method by annotation
class A:
    __getattr__: object = lambda self, n: print("ESCAPED", n)
A().x
#### a special method by a loop
class A:
    for __getattr__ in [lambda self, n: print("ESCAPED", n)]: pass
A().x
#### a special method by import
class A:
    from math import sin as __getattr__
print("ESCAPED", A)
#### a special method by walrus
class A:
    (__getattr__ := lambda self, n: print("ESCAPED", n))
A().x
#### a special method by with
class C:
    def __enter__(self): return lambda self, n: print("ESCAPED", n)
    def __exit__(self, *a): pass
class A:
    with C() as __getattr__: pass
A().x
#### a special method by except
class A:
    try: raise ValueError
    except ValueError as __getattr__: print("ESCAPED")
#### a special method by match
class A:
    match lambda self, n: print("ESCAPED", n):
        case __getattr__: pass
A().x
#### a special method by slots
class A:
    __slots__ = ("__dict__",)
print("ESCAPED", A().__dict__)
#### slots by a computed name
class A:
    __slots__ = ["_" + "_dict__"]
print("ESCAPED", A())
#### a guard replaced by an argument
def f(_getattr_): return _getattr_
print("ESCAPED", f(1))
#### CVE 8.3 a guard replaced by a positional argument
def f(_getattr_, /): return _getattr_
print("ESCAPED", f(1))
#### a guard replaced by a keyword argument
def f(*, _getattr_=lambda o, n: o): return _getattr_
print("ESCAPED", f())
#### a guard replaced by star arguments
def f(*_getattr_, **_write_): return _getattr_
print("ESCAPED", f())
#### a guard replaced by a lambda's argument
print("ESCAPED", (lambda _getattr_: _getattr_)(1))
#### a guard replaced by assignment
_getattr_ = lambda o, n: "ESCAPED"
print(_getattr_([], "x"))
#### a guard replaced by import
from math import sin as _getattr_
print("ESCAPED", _getattr_)
#### a guard replaced by future import
from __future__ import annotations as _getattr_
print("ESCAPED", _getattr_)
#### a guard replaced by global
def f():
    global _write_
    _write_ = lambda o: o
f()
print("ESCAPED", _write_)
#### a guard replaced by a class
class _getattr_: pass
print("ESCAPED", _getattr_)
#### a guard replaced by a function
def _write_(o): return o
print("ESCAPED", _write_)
#### a guard replaced by except
try: raise ValueError
except ValueError as _getattr_: print("ESCAPED", _getattr_)
#### a guard replaced by a pattern
match 1:
    case _write_: print("ESCAPED", _write_)
#### a guard replaced by a star pattern
match [1]:
    case [*_write_]: print("ESCAPED", _write_)
#### a guard replaced by a mapping pattern
match {}:
    case {**_write_}: print("ESCAPED", _write_)
#### a guard replaced by a comprehension
print("ESCAPED", [_getattr_ for _getattr_ in [1]])
#### a guard replaced by a walrus
print("ESCAPED", (_getattr_ := 1))
#### a guard replaced by a name that is normalised
_ｇetattr_ = 1
print("ESCAPED", _ｇetattr_)
#### an attribute that is normalised
print("ESCAPED", ().__ｃlass__)
#### a guard replaced by del
_write_ = 1
del _write_
print("ESCAPED")
#### a private name in a class
class A:
    __x = 1
print("ESCAPED", A._A__x)
#### the print collector (policy)
print("ESCAPED", _print)
#### print's collector's class (policy)
print("ESCAPED", _print_(None))
#### the metaclass of classes (policy)
print("ESCAPED", __metaclass__("X", (), {}))
#### build_class
print("ESCAPED", __build_class__)
#### re.enum.sys
import re
print("ESCAPED", re.enum.sys.modules)
#### json.codecs.open
import json
print("ESCAPED", json.codecs.open)
#### datetime.sys
import datetime
print("ESCAPED", datetime.sys if hasattr(datetime, "sys") else __import__("sys"))
#### random's os
import random
print("ESCAPED", random._os)
#### random's urandom
import random
print("ESCAPED", random._urandom)
#### random.SystemRandom
import random
print("ESCAPED", random.SystemRandom)
#### collections' sys
import collections
print("ESCAPED", collections._sys)
#### collections.abc's sys
import collections.abc
print("ESCAPED", collections.abc.sys.modules if hasattr(collections.abc, "sys") else collections.abc.__loader__)
#### functools' get_cache_token
import functools
print("ESCAPED", functools.get_cache_token)
#### typing's sys
import typing
print("ESCAPED", typing.sys)
#### typing by from
from typing import sys
print("ESCAPED", sys.modules)
#### statistics' sys
import statistics
print("ESCAPED", statistics.sys if hasattr(statistics, "sys") else statistics.math)
#### dataclasses' inspect
import dataclasses
print("ESCAPED", dataclasses.inspect)
#### copy's copyreg
import copy
print("ESCAPED", copy.copyreg if hasattr(copy, "copyreg") else copy.dispatch_table)
#### textwrap's re
import textwrap
print("ESCAPED", textwrap.re)
#### base64's struct
import base64
print("ESCAPED", base64.struct)
#### calendar's sys
import calendar
print("ESCAPED", calendar.sys)
#### queue's threading
import queue
print("ESCAPED", queue.threading)
#### hashlib's file_digest
import hashlib
print("ESCAPED", hashlib.__builtin_constructor_cache)
#### a module's dict
import math
print("ESCAPED", math.__dict__)
#### a module's loader
import math
print("ESCAPED", math.__loader__.load_module)
#### a module's dict by from
from math import __dict__ as d
print("ESCAPED", d)
#### a module's class by from
from math import __class__ as c
print("ESCAPED", c)
#### a module's type
import math
print("ESCAPED", type(math)("x"))
#### a module changed
import math
math.pi = 3
print("ESCAPED", math.pi)
#### a module changed by setattr
import math
setattr(math, "pi", 3)
print("ESCAPED", math.pi)
#### a module's submodule that was not asked for
import xml
import xml.etree
print("ESCAPED")
#### a relative import
try:
    from . import os
except ImportError: print("ESCAPED")
#### sys.modules
import sys
print("ESCAPED", sys.modules["os"])
#### sys._getframe
import sys
print("ESCAPED", sys._getframe())
#### sys.settrace
import sys
sys.settrace(lambda *a: print("ESCAPED", a))
(lambda: 1)()
#### sys.exc_info
import sys
try: 1 / 0
except ZeroDivisionError: print("ESCAPED", sys.exc_info())
#### sys.meta_path
from sys import meta_path
print("ESCAPED", meta_path)
#### sys.stdin's file
import sys
print("ESCAPED", sys.stdin.buffer.raw)
#### sys.stdout's class
import sys
print("ESCAPED", type(sys.stdout))
#### a file by the class of a stream's file
import sys
print("ESCAPED", type(sys.stdin.buffer.raw)("/etc/passwd"))
#### a stream's own way (policy)
import sys
print("ESCAPED", sys.stdout._of())
#### a stream's class called (policy)
import sys
print("ESCAPED", type(sys.stdout)("modules"))
#### io.open
import io
print("ESCAPED", io.open("/etc/passwd"))
#### io.FileIO
from io import FileIO
print("ESCAPED", FileIO("/etc/passwd"))
#### sys.stdout replaced
import sys
class W:
    def write(self, x): pass
    def flush(self): pass
keep = sys.stdout
sys.stdout = W()
keep.write("ESCAPED")
#### get_type_hints
from typing import get_type_hints
def f(x: "print('ESCAPED')"): pass
get_type_hints(f)
#### ForwardRef
from typing import ForwardRef
print("ESCAPED", ForwardRef("x")._evaluate)
#### singledispatch evaluates annotations
from functools import singledispatch
@singledispatch
def f(x): pass
@f.register
def g(x: "print('ESCAPED') or int"): pass
#### singledispatchmethod
from functools import singledispatchmethod
print("ESCAPED", singledispatchmethod)
#### update_wrapper sets attributes
from functools import update_wrapper
def f(): pass
class A: code = 7
class T: pass
update_wrapper(T, A, assigned=("code",), updated=())
print("ESCAPED", T.code)
#### wraps reads attributes
from functools import wraps
class T: pass
wraps(str, assigned=("__doc__",), updated=())(T)
print("ESCAPED")
#### partial's function
from functools import partial
print("ESCAPED", partial(len).func)
#### partial's state
from functools import partial
print("ESCAPED", partial(len).__reduce__())
#### total_ordering changes a library class
from functools import total_ordering
from fractions import Fraction
class A: pass
print("ESCAPED", total_ordering(type("X", (), {"__lt__": lambda a, b: 1})))
#### total_ordering on another's class
from functools import total_ordering
from queue import Queue
Queue.__lt__ = lambda a, b: True
print("ESCAPED", total_ordering(Queue))
#### dataclass on another's class
from dataclasses import dataclass
from fractions import Fraction
print("ESCAPED", dataclass(Fraction))
#### make_dataclass
from dataclasses import make_dataclass
print("ESCAPED", make_dataclass("X", ["x"]))
#### namedtuple with a field that inspects
from collections import namedtuple
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        N = namedtuple("N", "tb_frame")
        class P:
            __match_args__ = N._fields
        print("ESCAPED")
        return True
with C(): 1 / 0
#### property's function
print("ESCAPED", property(len).fget)
#### property's function by getattr
class A:
    p = property(len)
print("ESCAPED", getattr(A.p, "fget"))
#### fractions' numerator's function
from fractions import Fraction
print("ESCAPED", Fraction.numerator.fget)
#### staticmethod's function
print("ESCAPED", staticmethod(len).__func__)
#### a method's function
class A:
    def f(self): pass
print("ESCAPED", A().f.__func__)
#### a method's object
print("ESCAPED", [].append.__self__)
#### print's module
print("ESCAPED", print.__self__)
#### a guard's globals (policy)
print("ESCAPED", getattr.__globals__)
#### a guard's object (policy)
print("ESCAPED", getattr.__self__)
#### a guard's default argument (policy)
print("ESCAPED", getattr((), "__class__", None, lambda o, n: "x"))
#### a guard's default argument by keyword (policy)
print("ESCAPED", getattr((), "x", getattr=lambda *a: "x"))
#### a guard changed (policy)
getattr.x = 1
print("ESCAPED")
#### a guard as a pattern's value (policy)
match 1:
    case getattr.__self__: pass
print("ESCAPED")
#### mappingproxy of a dict's views
print("ESCAPED", {}.keys().mapping)
#### lru_cache's wrapped
from functools import lru_cache
print("ESCAPED", lru_cache(len).__wrapped__)
#### a builtin class changed
setattr(Exception, "x", 1) if False else None
from collections import Counter
Counter.x = 1
print("ESCAPED")
#### another's class's item
from collections import UserDict
UserDict.__setitem__ = print
print("ESCAPED")
#### a library object's attribute
from queue import Queue
q = Queue()
q.maxsize = 3
print("ESCAPED")
#### a library object's init
import random
r = random.Random()
random.Random.__init__(r, 3)
print("ESCAPED")
#### property's init on a library's property
from fractions import Fraction
property.__init__(Fraction.numerator, len)
print("ESCAPED")
#### subclass of super
class S(super): pass
print("ESCAPED", S)
#### subclass of property
class P(property): pass
print("ESCAPED", P(len).fget)
#### subclass of partial
from functools import partial
class P(partial): pass
print("ESCAPED", P(len).func)
#### subclass of classmethod
class P(classmethod): pass
print("ESCAPED", P(len).__func__)
#### a method of a base class that is special
class A:
    def f(self): return super().__getattribute__("__class__")
print("ESCAPED", A().f())
#### object's setattr
class A: pass
object.__setattr__(A(), "x", 1)
print("ESCAPED")
#### object's subclasses
print("ESCAPED", object.__subclasses__())
#### object's reduce
print("ESCAPED", object().__reduce_ex__(2))
#### object's new
print("ESCAPED", object.__new__(object))
#### class by a pattern
match ():
    case object(__class__=c): print("ESCAPED", c)
#### frame by a pattern on a generator
def gen(): yield 1
match gen():
    case object(gi_frame=f): print("ESCAPED", f)
#### frame by a value pattern
def gen(): yield 1
class A: g = gen()
class Spy:
    def __eq__(self, o): print("ESCAPED", o)
match Spy():
    case A.g.gi_frame: pass
#### type statement
import sys
exec("type X = int") if sys.version_info >= (3, 12) else None
print("ESCAPED")
#### dunder in an f-string
print(f"ESCAPED {().__class__}")
#### dunder in a nested f-string's format
print(f"ESCAPED {1:{().__class__.__name__[:0]}}")
#### dunder in a default argument
def f(x=().__class__): return x
print("ESCAPED", f())
#### dunder in an annotation
def f(x: ().__class__): pass
print("ESCAPED")
#### dunder in a decorator
@int.__class__
def f(): pass
print("ESCAPED")
#### dunder in a keyword of a class
class A(metaclass=().__class__.__class__): pass
print("ESCAPED")
#### dunder deleted
def f(): pass
del f.__defaults__
print("ESCAPED")
#### dunder in an augmented assignment
def f(): pass
f.__name__ += "x"
print("ESCAPED")
#### dunder in a loop's target
class A: pass
for A.__doc__ in ["x"]: pass
print("ESCAPED", A)
#### a function's defaults
def f(x=1): pass
f.__defaults__ = (2,)
print("ESCAPED")
#### a function's code replaced
def f(): pass
def g(): print("ESCAPED")
f.__code__ = g.__code__
f()
#### a function's code replaced by setattr
def f(): pass
def g(): print("ESCAPED")
setattr(f, "__code__", getattr(g, "__code__"))
f()
#### breakpoint
import sys
sys.breakpointhook = lambda *a: print("ESCAPED")
breakpoint()
#### help
print("ESCAPED", help)
#### memoryview's object
print("ESCAPED", memoryview(b"x").obj)
#### licence reads files
print("ESCAPED", license)
#### importlib
import importlib
print("ESCAPED", importlib.import_module("os"))
#### ctypes
import ctypes
print("ESCAPED", ctypes)
#### gc
import gc
print("ESCAPED", gc.get_objects)
#### inspect
import inspect
print("ESCAPED", inspect.currentframe())
#### threading's trace
import threading
print("ESCAPED", threading.settrace)
#### pickle
import pickle
print("ESCAPED", pickle.loads(b"cos\ngetpid\n."))
#### warnings' catch
import warnings
print("ESCAPED", warnings.sys)
#### contextmanager's function
from contextlib import contextmanager
@contextmanager
def f(): yield 1
print("ESCAPED", f().func)
#### contextmanager's generator
from contextlib import contextmanager
@contextmanager
def f(): yield 1
print("ESCAPED", f().gen.gi_frame)
#### contextlib's sys
import contextlib
print("ESCAPED", contextlib.sys)
#### defaultdict's factory
from collections import defaultdict
print("ESCAPED", defaultdict(list).default_factory)
#### json with a class
import json
class E:
    def __init__(self, **k): print("ESCAPED", k)
    def encode(self, o): return ""
json.dumps(1, cls=E)
#### json's encoder
from json import JSONEncoder
print("ESCAPED", JSONEncoder.default)
#### the decimal module's own
import decimal
print("ESCAPED", decimal.__builtins__ if hasattr(decimal, "__builtins__") else decimal.__loader__)
#### exception context
try:
    try: 1 / 0
    except ZeroDivisionError: {}["x"]
except KeyError as e:
    print("ESCAPED", e.__context__)
#### exception's with_traceback of a frame
try: 1 / 0
except ZeroDivisionError as e:
    print("ESCAPED", e.with_traceback(None).__reduce__)
#### stop iteration carries a frame
def gen():
    x = yield
    return x
g = gen()
next(g)
try: g.send(getattr(g, "gi_frame"))
except StopIteration as e: print("ESCAPED", e.value)
#### throw with a traceback
def gen(): yield
g = gen()
next(g)
try: g.throw(ValueError)
except ValueError as e: print("ESCAPED", e.__traceback__)
#### yield from a generator's frame
def gen(): yield from inner
inner = (x for x in [1])
g = gen()
next(g)
print("ESCAPED", g.gi_yieldfrom)
#### async comprehension
async def f(): return [x async for x in g()]
f().close()
print("ESCAPED")
#### await
async def f(): await g()
f().close()
print("ESCAPED")
#### a cell by nonlocal
def f():
    __class__ = 1
    def g():
        nonlocal __class__
        __class__ = 2
    g()
    return __class__
print("ESCAPED", f())
#### class cell
class A:
    def f(self): return __class__
print("ESCAPED", A().f())
#### qualname and module in a class
class A:
    x = __module__
print("ESCAPED", A.x)
#### match_args by namedtuple and a pattern
from collections import namedtuple
from abc import ABC
class P(namedtuple("P", "gi_frame"), ABC): pass
def gen(): yield 1
g = gen()
P.register(type(g))
match g:
    case P(f): print("ESCAPED", f)
#### cached_property with a name of one's own
from functools import cached_property
class CP(cached_property): pass
print("ESCAPED", CP(len).func)
#### cached_property's function
from functools import cached_property
print("ESCAPED", cached_property(len).func)
#### copy of a module (policy)
import copy, math
copy.copy(math).pi = 3 if False else 3
print("ESCAPED")
#### deep copy of a guard (policy)
import copy
g = copy.deepcopy(getattr)
print("ESCAPED", g((), "__class__"))
#### pickle by reduce of a bound method
import copy
print("ESCAPED", [].append.__reduce__())
#### attribute error of a module's view (policy)
import math
try: math.nothing
except AttributeError as e: print("ESCAPED", e.obj)
#### name error's obj by getattr
try: math.nothing
except NameError as e:
    print("ESCAPED", getattr(e, "__traceback__"))
#### type of a class is compared
class M: pass
print("ESCAPED" if type(type) is type and type(M).mro else "")
#### type of a function makes functions
def f(): pass
print("ESCAPED", type(f)(compile("1", "", "eval"), {}))
#### type of a method
class A:
    def f(self): print("ESCAPED")
type(A().f)(A.f, 1)()
#### type of a generator's code
def g(): yield
print("ESCAPED", type(g().gi_code))
#### numbers registers
from numbers import Number
Number.register(str)
print("ESCAPED", isinstance("x", Number))
#### a long way round by zip and star
print("ESCAPED", *map(getattr, *zip(*[((), "__class__")])))
#### sorted with a key that reads attributes
print("ESCAPED", sorted([()], key=lambda o: o.__class__))
#### max by getattr as a key
print("ESCAPED", max(["__class__", "__doc__"], key=partial(getattr, ())) if False else getattr((), "__doc__"))
#### re's expand and friends lead to the module
import re
print("ESCAPED", re.compile("x").__reduce__ if False else re._parser)
#### re.Scanner
import re
print("ESCAPED", re.Scanner([("x", None)]))
#### timeit runs texts
import timeit
timeit.timeit("print('ESCAPED')", number=1)
#### difflib's module
import difflib
print("ESCAPED", difflib.re if hasattr(difflib, "re") else difflib._mdiff)
#### secrets' base
import secrets
print("ESCAPED", secrets.base64 if hasattr(secrets, "base64") else secrets.SystemRandom)
#### a descriptor's name, written late
import functools, copy
class CP(functools.cached_property): pass
cp = CP(lambda self: lambda proto: (lambda: target, (), (None, {"__match_args__": ("__globals__",)})))
class Holder: pass
cp.attrname = "__reduce_ex__"
setattr(Holder, "hook", cp)
h = Holder()
h.hook
class target: pass
copy.copy(h)
print("ESCAPED", target)
#### a descriptor's name, for a deep copy
import functools, copy
class CP(functools.cached_property): pass
cp = CP(lambda self: lambda memo: "ESCAPED")
class Holder: pass
cp.attrname = "__deepcopy__"
setattr(Holder, "hook", cp)
h = Holder()
h.hook
print(copy.deepcopy([h]))
#### fields of an object's own
import functools
from dataclasses import dataclass, fields
class CP(functools.cached_property): pass
@dataclass
class H:
    x: int = 0
cp = CP(lambda self: {"q": fields(H)[0]})
cp.attrname = "__dataclass_fields__"
H.hook = cp
h = H()
h.hook
print("ESCAPED", fields(h))
#### mro behind an alias
from typing import Type
import enum
print("ESCAPED", Type[int].mro(enum.Enum))
#### mro behind a builtin alias
print("ESCAPED", list[int].mro()[1])
#### mro behind two aliases
from typing import Annotated, Type
print("ESCAPED", Annotated[Type[int], 1].mro)
#### real enumeration by its order
import enum
from typing import Type
Real = Type[int].mro(enum.Enum)[0]
X = Real("X", {"A": 1})
print("ESCAPED", X)
#### member descriptor behind an alias
from typing import Annotated
import functools
print("ESCAPED", Annotated[functools.partial, 1].func)
#### member descriptor of a class
import functools
print("ESCAPED", functools.partial.func)
#### table of groups by a pattern
import re
P = re.compile("(?P<a>x)")
class Spy:
    def __eq__(self, other):
        try: other["zz"] = 1
        except TypeError: return False
        print("ESCAPED", other)
        return True
match P:
    case re.Pattern(groupindex=g):
        g == Spy()
#### table of groups by a pattern in a list
import re
match [re.compile("(?P<a>x)")]:
    case [re.Pattern(groupindex=g), *_]:
        print("ESCAPED", g)
#### dotted value that a guard would refuse
import functools
class Any:
    def __eq__(self, other):
        print("ESCAPED", other)
        return True
match Any():
    case functools.partial.func: pass
#### dotted key that a guard would refuse
import functools
d = {functools.partial.func: "ESCAPED"}
match d:
    case {functools.partial.func: x}: print(x)
#### arguments of a pattern that a class names
class E(AttributeError):
    __match_args__ = ("obj",)
try: (1).nothing
except AttributeError as e: found = e
match E("x", obj="ESCAPED"):
    case E(o): print(o)
#### attributes of a class through contextmanager
import contextlib, statistics
print("ESCAPED", contextlib.contextmanager(statistics.NormalDist).mean)
#### attributes of a class through lru_cache
import functools, statistics
print("ESCAPED", functools.lru_cache(statistics.NormalDist).mean)
#### field named like what a traceback has
from dataclasses import dataclass
@dataclass
class A:
    tb_frame: int
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        print("ESCAPED", A.__repr__(tb))
        return True
with C(): 1 / 0
#### method of a data class for another object
from dataclasses import dataclass
@dataclass
class A:
    obj: int
print("ESCAPED", A.__repr__(AttributeError("x", obj=3)))
#### state of a copy through the memo
import copy
class Evil:
    def __deepcopy__(self, memo):
        for d in list(memo.values()):
            if type(d) is dict:
                d["__class__"] = Other
                d["__traceback__"] = None
        return 1
class Other(Exception):
    foo = 7
class E(Exception): pass
e = E("x"); e.a = Evil()
f = copy.deepcopy(e)
if isinstance(f, Other): print("ESCAPED", type(f))
#### reduction planted by a copy of an exception
import copy, random
class D(dict): pass
names = D()
def evil_reduce(protocol): return (lambda: target), (), patch
class Evil:
    def __deepcopy__(self, memo):
        for d in list(memo.values()):
            if type(d) is dict: d["__dict__"] = names
        return 1
class E(Exception): pass
target, patch = random, {"choice": lambda x: "ESCAPED"}
e = E("x"); e.a = Evil()
f = copy.deepcopy(e)
names["__reduce_ex__"] = evil_reduce
copy.copy(f)
print(random.choice([1]))
#### reduction planted in an object
import copy, random
class H: pass
h = H()
setattr(h, "x", 1)
try: h.__dict__["__reduce_ex__"] = lambda protocol: ((lambda: random), (), {"choice": lambda x: "ESCAPED"})
except Exception: pass
copy.copy(h)
print(random.choice([1]))
#### init of a library's class on one of the program's
import typing
class M: pass
typing.NewType.__init__(M, "os.ESCAPED", int)
print(repr(M))
#### init of a library's class on a function
import typing
def f(): pass
typing.NewType.__init__(f, "ESCAPED", int)
print(repr(f))
#### base of another kind than it looks
import functools, typing
NT = typing.NewType("NT", int)
setattr(NT, "__mro_entries__", lambda bases: (functools.cached_property,))
class CP(NT): pass
print("ESCAPED", CP.mro())
#### source of a data class through a field that super() renames
from dataclasses import dataclass, fields
@dataclass
class D:
    name: object
class S(D): pass
@dataclass
class V:
    x: int = 0
g = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__"
super(S, S).__init__(fields(V)[0], "x or self.sink(" + g + ") or self.x")
out = []
@dataclass(init=False, repr=False)
class W(V):
    def sink(self, v): out.append(v)
W() == W()
print("ESCAPED", out[0]["sys"])
#### attribute of a library's class through super() of a class
from dataclasses import dataclass
import collections
@dataclass
class M:
    most_common: object
class S(M): pass
super(S, S).__init__(collections.Counter, lambda self, n=None: "ESCAPED")
print(collections.Counter("aab").most_common())
#### attribute of a module through a library's init
import collections, random
class C(collections.ChainMap): pass
super(C, C).__init__(random, {"a": "ESCAPED"})
print(random.maps)
#### init of a library's object through super()
import queue
q = queue.PriorityQueue()
super(queue.PriorityQueue, q).__init__(7)
if q.maxsize == 7: print("ESCAPED")
#### super() out of a class's own method
from dataclasses import dataclass
import collections
@dataclass
class M:
    thing: object
class K(M):
    @classmethod
    def go(cls): return super().__init__
K.go()(collections.Counter, "ESCAPED")
print(collections.Counter.thing)
#### method of a data class that a class inherits
from dataclasses import dataclass
import functools
@dataclass
class O:
    func: object
class S(O): pass
if "len" in S.__repr__(functools.partial(len)): print("ESCAPED")
#### method of a data class through an alias
from dataclasses import dataclass
import functools
@dataclass
class P(list):
    func: object
if "len" in P[int].__repr__(functools.partial(len)): print("ESCAPED")
#### field that two classes share
from dataclasses import dataclass, field, fields
f = field(default=None)
@dataclass
class A(AttributeError):
    x: int = f
@dataclass
class B:
    obj: int = f
if fields(A)[0].name == "obj": print("ESCAPED")
"""


def attempts():
    """Pairs of a name and a program."""
    for block in TEXT.split("\n#### ")[1:]:
        name, _, code = block.partition("\n")
        yield name, code + ("" if code.endswith("\n") else "\n")
