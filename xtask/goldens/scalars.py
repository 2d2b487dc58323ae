"""Reads what `whet runs tensorboard RUN` wrote with TensorBoard's own reader, and compares it with events.jsonl.

    pip install tensorboard
    python3 scalars.py runs/NAME runs/NAME/tensorboard
"""
import json
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run, folder = sys.argv[1:]
reader = EventAccumulator(folder, size_guidance={"scalars": 0})
reader.Reload()
found = {
    (tag, event.step): event.value for tag in reader.Tags()["scalars"] for event in reader.Scalars(tag)
}
expected = {}
for line in open(f"{run}/events.jsonl"):
    event = json.loads(line)
    event = event.get("data", event)
    if event.get("type") == "metrics":
        for tag, value in event["values"].items():
            narrow = struct.unpack("<f", struct.pack("<f", float(value)))[0]
            expected[tag, event["step"]] = narrow
assert expected, "no measurements"
assert found.keys() == expected.keys(), sorted(found.keys() ^ expected.keys())[:5]
same = lambda a, b: a == b or (a != a and b != b)
wrong = [key for key in expected if not same(found[key], expected[key])]
assert not wrong, wrong[:5]
print(f"{len(expected)} values of {len({tag for tag, _ in expected})} names are the same")
