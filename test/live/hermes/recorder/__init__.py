"""A plugin of Hermes that appends a line to hooks.jsonl in its home for each hook: what the hook is, when, and its payload.

Some versions block a tool when a callback raises, so nothing may get out of one.
"""

import json
import threading
import time

from hermes_constants import get_hermes_home

LOCK = threading.Lock()
RECORDS = get_hermes_home() / "hooks.jsonl"


def register(ctx):
    from hermes_cli.plugins import VALID_HOOKS

    for hook in sorted(VALID_HOOKS):
        ctx.register_hook(hook, recorder(hook))


def recorder(hook):
    def record(**payload):
        at = time.time() * 1000
        try:
            line = json.dumps({"hook": hook, "at": at, "payload": payload}, default=unknown)
            with LOCK, open(RECORDS, "a", encoding="utf-8") as records:
                records.write(line + "\n")
        except Exception:
            pass

    return record


def unknown(value):
    """What is no JSON, such as the answer as an object: its type."""
    return "<" + type(value).__name__ + ">"
