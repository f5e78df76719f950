"""What is wrong with a Chrome trace of ours: stricter than its readers, which mend what they can.

Source: "Trace Event Format", the Chromium project's document.
"""

METADATA = ("process_name", "thread_name")


def faults(trace):
    """One line for each fault; none if every slice that begins ends, nested, at times that never go back."""
    found = []
    stacks, latest, names = {}, {}, {}
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        return ["there is no list traceEvents"]
    for index, event in enumerate(events):
        fault = fault_of_fields(event)
        if not fault:
            track = (event["pid"], event.get("tid"))
            if event["ph"] == "M":
                names.setdefault(track, set()).add(event["name"])
            elif event["ph"] in "BE":
                fault = fault_of_slice(event, stacks.setdefault(track, []), latest.get(track))
                latest[track] = event["ts"]
        if fault:
            found.append(f"event {index}: {fault}")
    for track, stack in stacks.items():
        if stack:
            found.append(f"track {track}: {stack[-1]} never ends")
        for name in METADATA:
            if name not in names.get(track, ()):
                found.append(f"track {track} has no {name}")
    return found


def fault_of_fields(event):
    if not isinstance(event, dict) or event.get("ph") not in tuple("BEMCXbeistf"):
        return "neither a slice nor a counter nor a name"
    if event["ph"] == "X" and not (isinstance(event.get("dur"), (int, float)) and event["dur"] >= 0):
        return "a zone without a length"
    if event["ph"] in "bestf" and "id" not in event:
        return "no id"
    # A program's own counters are of its process.
    for field in ("pid",) if event["ph"] == "C" and "tid" not in event else ("pid", "tid"):
        if not isinstance(event.get(field), int) or event[field] < 0:
            return f"no {field}"
    if not isinstance(event.get("ts"), (int, float)) or isinstance(event["ts"], bool):
        return "no ts"
    if not isinstance(event.get("name"), str) or not event["name"]:
        return "no name"
    arguments = event.get("args")
    if event["ph"] == "M" and (event["name"] not in METADATA or not isinstance(arguments.get("name"), str)):
        return "no name of a process or thread"
    if event["ph"] == "C" and not (arguments and all(isinstance(v, (int, float)) for v in arguments.values())):
        return "a counter without numbers"
    return None


def fault_of_slice(event, stack, latest):
    if latest is not None and event["ts"] < latest:
        return f"at {event['ts']}, behind one at {latest}"
    if event["ph"] == "B":
        stack.append(event["name"])
    elif not stack:
        return f"{event['name']} ends, and has not begun"
    elif stack.pop() != event["name"]:
        return f"{event['name']} ends before what it called"
    return None
