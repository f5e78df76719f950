"""The callgraph of a session, from the script-profiler JSON of version 2 (docs/format-json.md)."""
import dataclasses
import json
import typing


@dataclasses.dataclass
class Category:
    name: str
    node_id: int


@dataclasses.dataclass
class Node:
    """children leads from a function's id to the node of its calls from here; duration is the node's own."""
    total_duration: int
    duration: int
    children: typing.Dict[int, int]


@dataclasses.dataclass
class Function:
    total_duration: int
    source: typing.Optional[str] = None
    name: typing.Optional[str] = None
    line: typing.Optional[int] = None
    is_native: bool = False
    is_plugin: bool = False

    @property
    def label(self) -> str:
        if self.name is not None:
            return self.name
        if self.source is not None and self.line is not None:
            return f"{self.source}:{self.line}"
        return "<anonymous>"


@dataclasses.dataclass
class ProfilingInfo:
    """Ids begin at 1: node(id), function(id). Durations are microseconds; where unit is set, occurrences of it.
    Session times are milliseconds since 1970."""
    version: int
    session_start_time: typing.Optional[int]
    session_end_time: typing.Optional[int]
    gc_function_id: typing.Optional[int]
    unit: typing.Optional[str]
    categories: typing.List[Category]
    nodes: typing.List[Node]
    functions: typing.List[Function]

    def node(self, node_id: int) -> Node:
        return self.nodes[_index(node_id, self.nodes, "node")]

    def function(self, function_id: int) -> Function:
        return self.functions[_index(function_id, self.functions, "function")]


def _index(one_based, entries, what):
    if type(one_based) is not int or not 1 <= one_based <= len(entries):
        raise ValueError(f"there is no {what} {one_based}")
    return one_based - 1


def _number(entry, key, default=..., bits=64):
    if default is not ... and key not in entry:
        return default
    value = entry[key]
    if type(value) is not int or not 0 <= value < 1 << bits:
        raise ValueError(f"{key} must be an integer from 0 to 2^{bits}-1, not {value!r}")
    return value


def _text(entry, key, default=...):
    if default is not ... and key not in entry:
        return default
    value = entry[key]
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a string, not {value!r}")
    value.encode()  # ValueError: half a surrogate pair
    return value


def _only_once(pairs):
    entry = dict(pairs)
    if len(entry) != len(pairs):
        raise ValueError("a field appears twice")
    return entry


def _no_constant(name):
    raise ValueError(f"{name} is no value of JSON")


def deserialize(text: typing.Union[str, bytes]) -> ProfilingInfo:
    """ValueError: it is no JSON, or not of this format."""
    try:
        return _info_of(json.loads(text, object_pairs_hook=_only_once, parse_constant=_no_constant))
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"not of the format: {problem!r}") from problem
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem


def _function_of(entry):
    flags = _number(entry, "Flags", 0, bits=32)
    return Function(_number(entry, "TotalDuration"), _text(entry, "Source", None), _text(entry, "Name", None),
                    _number(entry, "Line", None, bits=32), bool(flags & 1), bool(flags & 2))


def _info_of(document):
    version = _number(document, "Version")
    if version != 2:
        raise ValueError(f"version {version} of the format is not supported")
    functions = [_function_of(entry) for entry in document["Functions"]]
    nodes = []
    for entry in document["Nodes"]:
        function_ids, node_ids = entry.get("FunctionIds", []), entry.get("NodeIds", [])
        children = dict(zip(function_ids, node_ids))
        if (not len(function_ids) == len(node_ids) == len(children) or
                ("FunctionIds" in entry) != ("NodeIds" in entry)):
            raise ValueError(f"node {len(nodes) + 1}: FunctionIds and NodeIds do not fit")
        total = _number(entry, "TotalDuration")
        nodes.append(Node(total, total, children))
    gc_function_id = _number(document, "GCFuncId", None)
    if gc_function_id is not None:
        _index(gc_function_id, functions, "function")
    categories = [Category(_text(entry, "Name"), _number(entry, "NodeId")) for entry in document["Categories"]]
    _link(categories, nodes, functions)
    return ProfilingInfo(version, _number(document, "SessionStartTime", None),
                         _number(document, "SessionEndTime", None), gc_function_id, _text(document, "Unit", None),
                         categories, nodes, functions)


def _link(categories, nodes, functions):
    """Checks that nodes make trees, and takes the children's time off each."""
    parents = [None] * len(nodes)
    for category in categories:
        _take(parents, category.node_id, nodes, 0)
    for node_id, node in enumerate(nodes, 1):
        for function_id, child_id in node.children.items():
            _index(function_id, functions, "function")
            _take(parents, child_id, nodes, node_id)
            node.duration = max(0, node.duration - nodes[child_id - 1].total_duration)
    seen_from = [0] * len(nodes)
    for start in range(1, len(nodes) + 1):
        at = start
        while at and not seen_from[at - 1]:
            seen_from[at - 1] = start
            at = parents[at - 1]
        if at and seen_from[at - 1] == start:
            raise ValueError(f"node {at} is its own ancestor")


def _take(parents, child_id, nodes, parent_id):
    index = _index(child_id, nodes, "node")
    if parents[index] is not None:
        raise ValueError(f"node {child_id} has a parent already")
    parents[index] = parent_id
