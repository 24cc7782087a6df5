"""A program in Python that posts its hooks to the receiver, without packages."""

import json, os, pathlib, urllib.request

state = pathlib.Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
folder = state / "hookspan" / "receiver"
url = f'http://127.0.0.1:{json.loads((folder / "address.json").read_text())["port"]}/v1/hooks'
headers = {"x-hookspan-token": (folder / "token").read_text().strip(), "content-type": "application/json"}


def emit(hook, **payload):
    record = {"hook": hook, "host": "example-python", "payload": {"session_id": "s1", "turn_id": "t1", **payload}}
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(record).encode(), headers), timeout=1).close()
    except OSError as error:
        print(f"not recorded: {hook}: {error}")


emit("pre_llm_call", model="qwen3", user_message="How much is there to do?")
emit("pre_tool_call", tool_name="read_file", tool_call_id="c1", args={"path": "TODO"})
emit("post_tool_call", tool_call_id="c1", status="ok", result="buy milk, water the plants")
emit("post_llm_call", assistant_response="Two things.")
emit("on_session_end", completed=True)
print("Two things.")
