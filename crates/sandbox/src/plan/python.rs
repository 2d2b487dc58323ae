//! Names that Python has by itself: its built-ins, and the modules of its standard library.
//!
//! From `dir(builtins)` and `sys.stdlib_module_names` of `CPython` 3.11, with what is newer added, and
//! without modules of single platforms and jokes.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Whether a name is there without being defined.
pub fn is_builtin(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> =
        LazyLock::new(|| BUILTINS.split_ascii_whitespace().collect());
    NAMES.contains(name)
}

/// Whether a program may define this built-in name for a test to call: not those that look at other
/// names or run text.
pub(super) fn is_redefinable(name: &str) -> bool {
    const NEVER: [&str; 22] = [
        "__import__",
        "all",
        "any",
        "bool",
        "breakpoint",
        "callable",
        "compile",
        "delattr",
        "dir",
        "eval",
        "exec",
        "getattr",
        "globals",
        "hasattr",
        "id",
        "isinstance",
        "issubclass",
        "locals",
        "setattr",
        "super",
        "type",
        "vars",
    ];
    !NEVER.contains(&name)
}

/// Whether a name is that of a module which every Python has.
pub(super) fn is_module(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> =
        LazyLock::new(|| MODULES.split_ascii_whitespace().collect());
    NAMES.contains(name)
}

const BUILTINS: &str = "
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup
    BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError
    ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
    DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
    ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning
    GeneratorExit IOError ImportError ImportWarning IndentationError IndexError
    InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError
    OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError
    RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError True TypeError UnboundLocalError UnicodeDecodeError
    UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError
    Warning ZeroDivisionError __annotations__ __build_class__ __builtins__ __debug__ __doc__
    __file__ __import__ __loader__ __name__ __package__ __spec__ abs aiter all anext any ascii
    bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright
    credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset
    getattr globals hasattr hash help hex id input int isinstance issubclass iter len license
    list locals map max memoryview min next object oct open ord pow print property quit range
    repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip
";

const MODULES: &str = "
    abc aifc annotationlib argparse array ast asynchat asyncio asyncore atexit audioop base64
    bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs
    codeop collections colorsys compileall compression concurrent configparser contextlib
    contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib
    dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp
    fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob
    graphlib grp gzip hashlib heapq hmac html http imaplib imghdr imp importlib inspect io
    ipaddress itertools json keyword linecache locale logging lzma mailbox mailcap marshal math
    mimetypes mmap modulefinder multiprocessing netrc nis nntplib ntpath nturl2path numbers
    opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil
    platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr
    pydoc pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched
    secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
    socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string
    stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib
    tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace
    traceback tracemalloc tty turtle types typing unicodedata unittest urllib uu uuid venv
    warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib
    zoneinfo
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_python_are_known_and_others_are_not() {
        assert!(is_builtin("len") && is_builtin("ValueError") && is_builtin("__name__"));
        assert!(!is_builtin("math") && !is_builtin("similar_elements") && !is_builtin(""));
        assert!(is_module("math") && is_module("sys") && is_module("collections"));
        assert!(!is_module("numpy") && !is_module("len") && !is_module(""));
    }
}
