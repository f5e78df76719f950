"""Steers the profiler `sample` from Python, and reads what it recorded.

    from sample_profiler import profile

    with profile(freq=10000) as profiler:   # this process, run as: sample -- python3 experiment.py
        work()
    for function in sorted(profiler.data().functions, key=lambda f: -f.total_duration)[:10]:
        print(function.total_duration, function.label)

The calls are those of include/sample/profiler.h, and mean the same; docs/profiler-api.md is the manual.
Pure Python 3.9 or later, nothing but the standard library. Without the agent each call does nothing and returns
Result.NO_AGENT, so a program runs the same with and without.
"""
from .info import Category, Function, Node, ProfilingInfo, deserialize
from .recording import Recording
from .session import Data, Profiler, Result, State, load_agent, profile

__all__ = ["Category", "Data", "Function", "Node", "Profiler", "ProfilingInfo", "Recording", "Result", "State",
           "deserialize", "load_agent", "profile"]
