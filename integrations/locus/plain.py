"""Values of Locus as JSON: plain data as it is, and of anything else no more than the name of its type."""
import math

from . import receiver

DEPTH, PARTS, TEXT, TEXTS = 16, 20_000, 100_000, 2_000_000  # levels, parts, characters of a text, of a payload
EXACT = ((str, str.__str__), (int, int.__index__), (float, float.__float__))


def plain(value, left, depth=0):
    """The value as JSON can say it. `left`: parts and characters, of all together."""
    kind = type(value)
    if kind is str:
        left[1] -= len(value)
        return value[:TEXT] if left[1] >= 0 else ""
    if value is None or kind is bool or (kind is int and abs(value) < 2**63) or (kind is float and math.isfinite(value)):
        return value
    if issubclass(kind, (dict, list, tuple, set, frozenset)) and depth < DEPTH:
        left[0] -= len(value)
        if issubclass(kind, dict):
            parts = dict.copy(value).items() if left[0] >= 0 else ()
            return {str(key): plain(part, left, depth + 1) for key, part in parts if type(key) in (str, int)}
        return [plain(part, left, depth + 1) for part in (tuple(value) if left[0] >= 0 else ())]
    for base, exact in EXACT:
        if kind is not base and issubclass(kind, base):
            return plain(exact(value), left, depth)
    return None if kind is float else f"<{kind.__name__}>"


def text_of(payload):
    """A payload as JSON, as it is now: Locus goes on with the same objects. What is None is left out."""
    left = [PARTS, TEXTS]
    return receiver.encode({key: plain(value, left) for key, value in payload.items() if value is not None})


def message(said):
    """A message of the conversation, in the shape that chat models take."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in said.tool_calls or ()
    ]
    whole = {"role": said.role.value, "content": said.content, "tool_calls": calls, "tool_call_id": said.tool_call_id}
    return {key: value for key, value in whole.items() if value}


def usage(counts):
    """Tokens, as the contract counts them: the cache is a part of the input.

    Locus has two pairs of names for the cache: that of Anthropic and Bedrock counts beside `prompt_tokens`, that of
    OpenAI within.
    """
    def count(name):
        value = counts.get(name)
        return value if type(value) is int and value > 0 else 0

    beside_read, beside_write = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
    prompt, output = count("prompt_tokens") + beside_read + beside_write, count("completion_tokens")
    if prompt + output == 0:
        return None
    read, write = beside_read + count("cached_tokens"), beside_write + count("cache_write_tokens")
    tokens = {"prompt_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
    return {**tokens, "cache_read_tokens": read, "cache_write_tokens": write}
