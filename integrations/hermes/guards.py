"""Asks the receiver what hooks of the person's decide before a turn and a tool, behind a tool and an answer; Hermes does it.

Only where the person has asked for it: `hookspan init hermes --guards open`, or `closed`. That is what shall be where nobody
answers: with `open` Hermes goes on, with `closed` it runs no tool, and no result of one reaches the model.
"""
import os
import threading

from . import receiver

ASK_SECONDS, CALLS = 1, 1_000
HOME = os.environ.get("HERMES_HOME", "").strip() or os.path.expanduser("~/.hermes")
CLOSED = "hookspan could not ask the hooks that guard this agent, which is set up to do nothing then."
BLOCKED = {"pre_tool_call": {"action": "block", "message": CLOSED}, "transform_tool_result": {"result": receiver.encode({"error": CLOSED})}}


def chosen():
    """`open` or `closed`; None where nobody has asked for hooks that act."""
    try:
        said = os.environ.get("HOOKSPAN_GUARDS", "").strip() or receiver.read(os.path.join(HOME, "hookspan-guards"))
    except FileNotFoundError:
        return None
    except Exception:
        return "closed"  # what cannot be read was meant to guard
    return said if said in ("open", "off") else "closed"


def callbacks(conversations):
    """By hook, and by kind of middleware. `conversations`: parts of a payload that no hook is shown."""
    failing = chosen()
    if failing in (None, "off"):
        return {}
    calls = {}  # by call: its arguments, and what is decided

    def ask(hook, given):
        try:
            # All of it: what a hook is not shown it cannot judge.
            payload = receiver.encode({key: value for key, value in given.items() if key not in conversations})
            said = receiver.sender().ask(hook, payload, failing, ASK_SECONDS)
            return said if isinstance(said, dict) else {}
        except Exception:
            return BLOCKED.get(hook, {}) if failing == "closed" else {}

    def tool_request(*_, original_args=None, **given):
        """Before all else: only here can arguments be others in Hermes 0.19."""
        said = ask("pre_tool_call", given)
        args = said["args"] if isinstance(said.get("args"), dict) else given.get("args")
        while len(calls) >= CALLS:
            calls.pop(next(iter(calls)), None)
        calls[call_of(given)] = args, said
        return {"args": args} if "args" in said else None

    def pre_tool_call(*_, **given):
        args, said = calls.pop(call_of(given), (None, None))
        if said is None or args != given.get("args"):  # somebody behind us has changed what was judged
            said = ask("pre_tool_call", given)
        return said if said.get("action") in ("block", "approve", "modify") else None

    def pre_llm_call(*_, **given):
        return ask("pre_llm_call", given) or None

    def transform(hook):
        return lambda *_, **given: ask(hook, given).get("result")

    results = {hook: transform(hook) for hook in ("transform_tool_result", "transform_llm_output")}
    return {"tool_request": tool_request, "pre_tool_call": pre_tool_call, "pre_llm_call": pre_llm_call, **results}


def call_of(given):
    return given.get("tool_call_id") or threading.get_ident()
