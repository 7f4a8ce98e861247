"""The program inside: it runs a model's code and turns calls of tools into frames (``wire`` has the table).

It is one file that needs nothing but a Python of 3.9 or newer, because it is read into places where our
package is not: ``python3 -I -S runner.py``. Mode *loop* runs one program after another in one namespace,
until stdin ends; mode *single* runs one and leaves.

It refuses to decide anything: what it checks (JSON, sizes) it checks so that the program gets a clear error.
Code in the same process can undo each of these checks, and gains nothing, since the host checks again.

What a program can rely on: ``await`` and ``return`` at the top level; ``asyncio.run`` in code that awaits
nothing at the top level; variables kept from run to run; positional arguments of tools, bound in the order
of the schema; a failed call raises ToolError (a RuntimeError with ``type``, ``message`` and ``envelope``);
``tools["any-name"]`` for names that are no Python names. stdin is empty.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import os
import select
import sys
import threading
import types
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from typing import Any

SESSION, END_SESSION = "__PTC_SESSION__", "__PTC_END_SESSION__"
CODE, END_CODE = "__CODE_START__", "__CODE_END__"
RESULT, END_RESULT = "__PTC_TOOL_RESULT__", "__PTC_END_RESULT__"
CALL, END_CALL = "__PTC_TOOL_CALL__", "__PTC_END_CALL__"
OUTPUT, END_OUTPUT = "__PTC_OUTPUT__", "__PTC_END_OUTPUT__"
READY, EXIT = "__READY__", "__EXIT_SESSION__"

ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
COROUTINE, ASYNC_GENERATOR = 0x80, 0x200  # flags of a code object (inspect.CO_...)
WHOLE = "__program__"
FIRST_FRAMES, LAST_FRAMES = 10, 20


class ToolError(RuntimeError):
    """A tool answered with an error: ``type``, ``message``, and the ``envelope`` when it gave one."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.type = str(error.get("type") or "Error")
        self.message = str(error.get("message") or "")
        self.envelope = error.get("envelope")
        super().__init__(f"{self.type}: {self.message}" if self.message else self.type)


class Runner:
    """The inside of one session."""

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr  # descriptors that are ours alone
        self.pid = os.getpid()
        self.buffer = bytearray()
        self.scanned = 0
        self.nonce = ""
        self.limit = 1 << 23
        self.count = self.runs = 0
        self.result = b""  # how a result's frame begins in this execution
        self.pending: dict[str, asyncio.Future[Any]] = {}  # by call id
        self.loops: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()  # they watch our stdin
        self.lock = threading.Lock()
        self.sources: dict[str, list[str]] = {}  # file name of a program -> its lines
        self.namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        self.namespace["ToolError"] = ToolError
        os.set_blocking(stdin, False)

    def serve(self) -> None:
        """Session frame, ready, then programs until the host says goodbye."""
        session = self.expect(SESSION, END_SESSION)
        self.nonce, self.limit = session["nonce"], session["value"]
        named = {
            t["name"]: self.tool(t["name"], t["as"], t["parameters"], t["doc"]) for t in session["tools"]
        }
        self.namespace.update({t["as"]: named[t["name"]] for t in session["tools"]}, tools=named)
        self.loop = asyncio.new_event_loop()
        while True:
            self.write(self.stderr, f"{READY}{self.nonce}\n".encode())
            job = self.expect(CODE, END_CODE)
            self.nonce = job["nonce"]
            self.result = f"{RESULT}{self.nonce} ".encode()
            output = self.run(job["code"])
            if os.getpid() != self.pid:
                os._exit(0)  # a fork of the program came to its end; the original alone speaks for it
            self.flush()
            self.send(self.stdout, OUTPUT, ENCODER.encode(output), END_OUTPUT)
            if session["mode"] == "single":
                self.write(self.stderr, f"{READY}{self.nonce}\n".encode())
                return

    # --- a program ---------------------------------------------------------------------------

    def run(self, code: str) -> dict[str, Any]:
        """The payload of the output frame."""
        self.runs += 1
        name = f"<program {self.runs}>"
        self.sources[name] = code.splitlines()
        try:
            return self.output(self.execute(pieces(code, name)))
        except SystemExit as exit:
            if exit.code in (None, 0):
                return self.output(None)
            return self.failure(exit)
        except BaseException as error:
            return self.failure(error)
        finally:
            self.sweep()

    def execute(self, parts: list[types.CodeType]) -> Any:
        """The value of the last part. Code that awaits nothing at its top level runs outside any loop."""
        asyncio.set_event_loop(self.loop)
        if any(part.co_flags & COROUTINE or part.co_name == WHOLE for part in parts):
            return self.loop.run_until_complete(self.awaited(parts))
        value = None
        for part in parts:
            value = eval(part, self.namespace)
        return value

    async def awaited(self, parts: list[types.CodeType]) -> Any:
        value = None
        for part in parts:
            value = eval(part, self.namespace)
            if part.co_name == WHOLE:
                value = await self.namespace.pop(WHOLE)()
            elif part.co_flags & COROUTINE:
                value = await value
        return value

    def sweep(self) -> None:
        """End the tasks that the program left behind."""
        with contextlib.suppress(BaseException):
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left, timeout=1))
        self.pending.clear()

    def output(self, value: Any) -> dict[str, Any]:
        if isinstance(value, types.CoroutineType):
            value.close()
            return {"success": True, "value": None, "note": "the value is a coroutine that was never awaited"}
        note = None
        try:
            if len(json.dumps(value, allow_nan=False)) > self.limit:
                note = f"the value has over {self.limit} bytes of JSON and was left out"
        except BaseException:
            note = f"the value is a {type(value).__name__} that JSON can't hold; it was left out"
        return {"success": True, "value": None if note else value, "note": note}

    def failure(self, error: BaseException) -> dict[str, Any]:
        return {"success": False, "error": self.describe(error)}

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Type, text, and the frames of the program alone."""
        frames = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename in self.sources:
                function = "" if code.co_name in ("<module>", WHOLE) else code.co_name
                frames.append(self.frame(code.co_filename, trace.tb_lineno, function))
            trace = trace.tb_next
        if isinstance(error, SyntaxError) and error.filename in self.sources:
            frames.append(self.frame(error.filename, error.lineno or 1, ""))
        if len(frames) > FIRST_FRAMES + LAST_FRAMES:
            frames = frames[:FIRST_FRAMES] + frames[-LAST_FRAMES:]
        return {"type": type(error).__name__, "message": message(error), "frames": frames}

    def frame(self, file: str, line: int, function: str) -> dict[str, Any]:
        lines = self.sources[file]
        code = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return {"line": line, "code": code[:500], "function": function}

    # --- tools -------------------------------------------------------------------------------

    def tool(
        self, name: str, identifier: str, parameters: list[str], doc: str
    ) -> Callable[..., Awaitable[Any]]:
        async def tool(*args: Any, **kwargs: Any) -> Any:
            return await self.call(name, bind(identifier, parameters, args, kwargs))

        tool.__name__ = tool.__qualname__ = identifier
        tool.__doc__ = doc
        return tool

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            text = ENCODER.encode(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"arguments of {name} are not JSON: {error}") from None
        if len(text) > self.limit:
            raise ValueError(
                f"arguments of {name} have {len(text)} bytes of JSON; at most {self.limit} are accepted"
            )
        loop = asyncio.get_running_loop()
        if loop not in self.loops:
            self.loops.add(loop)
            loop.add_reader(self.stdin, self.readable)
        with self.lock:
            self.count += 1
            call_id = f"c{self.count}"
        future = self.pending[call_id] = loop.create_future()
        try:
            named = ENCODER.encode(name)
            text = f'{{"call_id":"{call_id}","tool_name":{named},"arguments":{text}}}'
            self.send(self.stderr, CALL, text, END_CALL)
            return await future
        finally:
            self.pending.pop(call_id, None)

    def readable(self) -> None:
        with self.lock:
            lines = list(self.lines())
        for line in lines:
            frame = unpack(line, self.result, END_RESULT.encode())
            future = self.pending.get(frame["call_id"]) if frame else None
            if frame is None or future is None:
                continue  # of an earlier execution, or nobody waits any more
            loop = future.get_loop()
            if loop is asyncio._get_running_loop():
                settle(future, frame)
            else:
                loop.call_soon_threadsafe(settle, future, frame)

    # --- bytes -------------------------------------------------------------------------------

    def lines(self) -> Iterator[bytes]:
        """Whole lines that are here now; the host's end of stdin is ours too."""
        try:
            data = os.read(self.stdin, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self.flush()
            os._exit(0)
        self.buffer += data
        while (end := self.buffer.find(b"\n", self.scanned)) >= 0:
            line = bytes(self.buffer[:end])
            del self.buffer[: end + 1]
            self.scanned = 0
            yield line
        self.scanned = len(self.buffer)

    def expect(self, start: str, end: str) -> dict[str, Any]:
        """The next frame of that kind; others are late and of no use."""
        while True:
            select.select([self.stdin], [], [])
            for line in list(self.lines()):
                if line == EXIT.encode():
                    self.flush()
                    os._exit(0)
                if frame := unpack(line, start.encode(), end.encode()):
                    return frame

    def send(self, fd: int, start: str, text: str, end: str) -> None:
        """A frame around a text of JSON, in which no marker is left."""
        if "__" in text:
            text = text.replace("__", "\\u005f\\u005f")
        self.write(fd, f"{start}{self.nonce} {text}{end}\n".encode())

    @staticmethod
    def write(fd: int, data: bytes) -> None:
        while data:
            data = data[os.write(fd, data) :]

    def flush(self) -> None:
        for stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
            with contextlib.suppress(BaseException):
                stream.flush()  # type: ignore[union-attr]


def pieces(code: str, name: str) -> list[types.CodeType]:
    """Code objects to run one after the other; the last one's value is the program's."""
    tree: Any = compile(code, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    if any(map(returns, tree.body)):
        return [whole(tree, name)]
    body, last = tree.body, []
    if body and isinstance(body[-1], ast.Expr):
        last = [ast.Expression(body[-1].value)]
        tree.body = body[:-1]
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    parts = [(tree, "exec")] + [(part, "eval") for part in last]
    return [compile(part, name, mode, flags, dont_inherit=True) for part, mode in parts]


def returns(node: ast.AST) -> bool:
    """Is there a ``return`` that belongs to the program itself?"""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    return any(map(returns, ast.iter_child_nodes(node)))


def whole(tree: ast.Module, name: str) -> types.CodeType:
    """The program as the body of a coroutine whose variables are the namespace's, so that it may return."""
    futures = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    body = [node for node in tree.body if node not in futures]
    if isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    source: Any = ast.parse(f"async def {WHOLE}(): pass")
    function = source.body[0]
    function.body = body
    source.body = [*futures, function]
    ast.fix_missing_locations(source)
    inner = inside(compile(source, name, "exec", dont_inherit=True))
    if inner.co_flags & ASYNC_GENERATOR:
        raise SyntaxError("'yield' outside function", (name, 1, 1, None))
    if names := [*inner.co_varnames, *inner.co_cellvars]:
        function.body.insert(0, ast.Global(names))
        ast.fix_missing_locations(source)
    return compile(source, name, "exec", dont_inherit=True).replace(co_name=WHOLE)


def inside(code: types.CodeType) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == WHOLE)


def bind(name: str, parameters: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Named arguments: positional ones take the names of the schema in their order."""
    if len(args) > len(parameters):
        raise TypeError(f"{name}() takes {len(parameters)} positional arguments but {len(args)} were given")
    arguments = dict(zip(parameters, args))  # noqa: B905  strict= is of 3.10
    for key in kwargs:
        if key in arguments:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
    return {**arguments, **kwargs}


def settle(future: asyncio.Future[Any], frame: dict[str, Any]) -> None:
    if future.done():
        return
    if frame.get("error") is not None:
        future.set_exception(ToolError(frame["error"]))
    else:
        future.set_result(frame.get("result"))


def unpack(line: bytes, start: bytes, end: bytes) -> dict[str, Any] | None:
    if line.startswith(start) and line.endswith(end):
        frame: dict[str, Any] = json.loads(line[len(start) : len(line) - len(end)])
        return frame
    return None


def message(error: BaseException) -> str:
    """The text of an exception; of a group, that of its members too."""
    try:
        if isinstance(error, SyntaxError) and error.msg:
            return str(error.msg)
        text = str(error)
        members = getattr(error, "exceptions", ()) if type(error).__name__.endswith("ExceptionGroup") else ()
        parts = [f"{type(member).__name__}: {message(member)}" for member in members]
        return "; ".join([text, *parts])
    except BaseException:
        return "(its text could not be made)"


def main() -> None:
    stdin, stdout, stderr = os.dup(0), os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
    Runner(stdin, stdout, stderr).serve()
    os._exit(0)  # whatever threads the program left


if __name__ == "__main__":
    main()
