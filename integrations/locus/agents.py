"""Of whom a hook tells: no event of Locus says it."""
import sys

UP = 8  # calls, from a hook to the agent that fires it


def firing():
    """The agent that has just fired a hook: the `self` of one of the calls that led to it."""
    frame = sys._getframe(1)
    for _ in range(UP):
        frame = frame and frame.f_back
        found = frame.f_locals.get("self") if frame else None
        if found is not None and hasattr(type(found), "run_sync") and hasattr(found, "config"):
            return found
    return None


def model_of(agent):
    """What its requests say beside their messages: names and settings, and nothing that is secret."""
    model = getattr(agent, "_model", None) or getattr(agent, "model", None)
    own, settings = getattr(model, "config", None), getattr(agent, "config", None)
    name = model if isinstance(model, str) else getattr(own, "model", None) or getattr(model, "model", None)
    is_known = type(model).__module__.startswith("locus.models.")
    kind = type(model).__name__.removesuffix("Model").lower()
    told = {"model": name, "provider": kind if is_known else None, "base_url": getattr(own, "base_url", None)}
    for key in ("temperature", "max_tokens"):
        asked = getattr(settings, key, None)
        told[key] = getattr(own, key, None) if asked is None else asked
    kinds = {"temperature": (int, float), "max_tokens": int}
    return {key: value for key, value in told.items() if isinstance(value, kinds.get(key, str)) and value != ""}


def tools_at_once(agent):
    settings = getattr(agent, "config", None)
    if getattr(settings, "tool_execution", None) == "sequential":
        return 1
    most = getattr(settings, "max_concurrency", None)
    return most if type(most) is int and most > 0 else 10


def calling():
    """The run and the tool call that this code runs in, where it does."""
    try:
        from locus.tools.context import current_tool_context

        call = current_tool_context()
        return (call.run_id, call.tool_call_id) if call and call.run_id else None
    except Exception:
        return None
