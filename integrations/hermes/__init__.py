"""Hands the hooks of Hermes Agent to hookspan's receiver on this machine, which makes OpenTelemetry traces of them.

A callback copies its payload into a queue and returns None, whatever happens: when one raises, Hermes blocks the tool. Only where
the person has asked for it, some of them ask the receiver what hooks of the person's decide (`guards.py`).
"""
import atexit
import math
from contextlib import suppress

from . import guards, receiver

# Known, and nothing for a trace; some of them change what Hermes does as soon as anybody listens.
UNHEARD = """agent_loop_stopped gateway_platform_event on_interim_message on_room_member_activity on_stream_delta
pre_command pre_gateway_dispatch pre_transcription pre_tts_synthesis pre_verify transform_api_error_classification
transform_terminal_output""".split()
# Whole conversations, again in each request: left out unless content is captured in full.
CONVERSATIONS = {"assistant_message", "conversation_history", "messages", "request_messages", "system_prompt"}
EXCHANGES, READ_INSIDE = {"request", "response", "body"}, {"stop", "stop_sequences"}
ENDS = {"on_session_end", "on_session_finalize"}  # Hermes may end its process right behind them, without `atexit`
DEPTH, PARTS, TEXT, TEXTS, PARAMETER = 16, 20_000, 100_000, 2_000_000, 200  # levels, parts, characters of a payload
END_SECONDS, EXIT_SECONDS = 0.1, 1


def plain(value, left, depth=0):
    """The value as JSON can say it, anything else by the name of its type. `left`: parts and characters, of all together."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, str):
        left[1] -= str.__len__(value)
        return str.__str__(value)[:TEXT] if left[1] >= 0 else ""
    if issubclass(kind, float):
        return float.__float__(value) if math.isfinite(float.__float__(value)) else None
    if issubclass(kind, int) and int.bit_length(value) < 64:
        return int.__index__(value)
    if issubclass(kind, (dict, list, tuple, set, frozenset)) and depth < DEPTH:
        left[0] -= len(value)
        parts = () if left[0] < 0 else dict.copy(value).items() if issubclass(kind, dict) else tuple(value)
        if issubclass(kind, dict):
            return {str(key): plain(part, left, depth + 1) for key, part in parts if type(key) in (str, int)}
        return [plain(part, left, depth + 1) for part in parts]
    return f"<{kind.__name__}>"


def lean(key, value):
    """A part of a request or an answer without what was said in it: what is set, and how many tools there are."""
    if isinstance(value, dict):
        return {name: lean(name, part) for name, part in dict.copy(value).items()} if key in EXCHANGES else {}
    if isinstance(value, list) and key not in READ_INSIDE:
        return [None] * len(value) if key == "tools" else []
    return "" if isinstance(value, str) and len(value) > PARAMETER else value


def text_of(given, is_full):
    """A payload as JSON, as it is now: Hermes goes on with the same objects."""
    if not is_full:
        given = {key: lean(key, value) if key in EXCHANGES else value for key, value in given.items() if key not in CONVERSATIONS}
    else:
        with suppress(Exception):  # by far the quickest, where there is nothing in it but plain data, and not too much
            text = receiver.encode(given)
            if len(text) <= TEXTS:
                return text
    left = [PARTS, TEXTS]
    return receiver.encode({key: plain(value, left) for key, value in given.items()})


def observer(hook):
    def observe(*_, **given):
        with suppress(Exception):
            sender = receiver.sender()
            sender.take(hook, text_of(given, sender.is_full))
            if hook in ENDS:
                sender.drain(END_SECONDS)

    return observe


def register(ctx):
    """What Hermes calls when it loads its plugins."""
    from hermes_cli.plugins import VALID_HOOKS

    asking = guards.callbacks(CONVERSATIONS)
    for kind in asking.keys() - set(VALID_HOOKS):
        ctx.register_middleware(kind, asking[kind])
    # Hermes 0.19, which has no side calls, fires it behind the end of the tool: nothing can come of it.
    useless = set() if "pre_auxiliary_call" in VALID_HOOKS else {"transform_tool_result"} - asking.keys()
    for hook in sorted(VALID_HOOKS):
        if hook not in UNHEARD and hook not in useless and "kanban_" not in hook:
            ctx.register_hook(hook, asking.get(hook) or observer(hook))
    atexit.register(lambda: receiver.sender().drain(EXIT_SECONDS))
