"""What a recording (.utrace), or any file that `sample report` reads, says: as plain columns, lists of equal length by
name, which pandas.DataFrame() and others take as they are. Asks the program `sample` for it."""
import json
import os
import shutil
import subprocess
import typing

from .info import ProfilingInfo, deserialize

Columns = typing.Dict[str, list]


def _program():
    """SAMPLE_BIN, else of the installation that this module is in, else of PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.normpath(os.path.join(here, "../../../../bin/sample"))
    found = os.environ.get("SAMPLE_BIN") or (beside if os.access(beside, os.X_OK) else shutil.which("sample"))
    if not found:
        raise FileNotFoundError("the program `sample` was not found; set SAMPLE_BIN to its path")
    return found


def _columns(entries, names) -> Columns:
    return {name: [entry.get(name) for entry in entries] for name in names}


class Recording:
    """Each call runs `sample` once; `options` are those of `sample report`, such as "--thread", "worker".
    subprocess.CalledProcessError: it could not read the file; `stderr` says why."""

    def __init__(self, file: typing.Union[str, os.PathLike], *options: str):
        self.file = os.fspath(file)
        self.options = options

    def info(self) -> ProfilingInfo:
        """The callgraph, as a session's data."""
        return deserialize(self._run("export", "--format", "json", "-o", "-"))

    def nodes(self) -> Columns:
        """The callgraph, callers before callees: ids begin at 1; parent is 0, and function None, for a category's."""
        info = self.info()
        columns: Columns = {name: [None] * len(info.nodes) for name in (
            "id", "parent", "depth", "category", "function", "name", "source", "line", "total_us", "self_us")}
        pending = [(category.node_id, 0, 0, None, category.name) for category in info.categories]
        while pending:
            node_id, parent, depth, function_id, category = pending.pop()
            node = info.node(node_id)
            function = info.function(function_id) if function_id is not None else None
            row = (node_id, parent, depth, category, function_id, category if function is None else function.label,
                   function and function.source, function and function.line, node.total_duration, node.duration)
            for column, value in zip(columns.values(), row):
                column[node_id - 1] = value
            pending.extend((child, node_id, depth + 1, called, category) for called, child in node.children.items())
        return columns

    def functions(self) -> Columns:
        functions = self.info().functions
        return {
            "id": list(range(1, len(functions) + 1)),
            "name": [function.label for function in functions],
            "source": [function.source for function in functions],
            "line": [function.line for function in functions],
            "total_us": [function.total_duration for function in functions],
            "is_native": [function.is_native for function in functions],
            "is_plugin": [function.is_plugin for function in functions],
        }

    def zones(self) -> Columns:
        """What the program said by SAMPLE_TRACE_ZONE and its like (docs/trace.md)."""
        return _columns(self._report("zones"), (
            "name", "category", "file", "line", "count", "open", "total_ns", "self_ns", "mean_ns", "min_ns", "p50_ns",
            "p95_ns", "p99_ns", "max_ns"))

    def counters(self) -> Columns:
        """By SAMPLE_TRACE_COUNTER; `peaks` is the greatest value in each hundredth of the session."""
        return _columns(self._report("counters"), ("name", "unit", "values", "last", "min", "max", "mean", "peaks"))

    def stats(self) -> dict:
        """How the recording came about, and how trustworthy it is: `sample report --view stats`."""
        return json.loads(self._run("report", "--view", "stats", "--json"))

    def _report(self, view):
        return json.loads(self._run("report", "--view", view, "--json"))[view]

    def _run(self, *words):
        return subprocess.run([_program(), *words, *self.options, "--", self.file], check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
