"""The way of hook records to hookspan's receiver: a queue, one thread, its socket; and its spool where nobody listens."""
import http.client
import itertools
import json
import os
import queue
import shutil
import socket
import stat
import subprocess
import threading
import time
from contextlib import suppress

VERSION, HOST = "0.1.0", "locus"
QUEUED, QUEUED_BYTES, BATCH, SPOOLED, SPOOLED_BYTES = 5_000, 2**25, 200, 10_000, 2**26
ANSWER_SECONDS, RETRY_SECONDS, START_SECONDS, ORDER_SECONDS = 0.5, 1, 10, 0.1
STATE = os.environ.get("XDG_STATE_HOME", "").strip()
PLACE = os.path.join(STATE if os.path.isabs(STATE) else os.path.expanduser("~/.local/state"), "hookspan", "receiver")
SPOOL, ADDRESS = os.path.join(PLACE, "spool"), os.path.join(PLACE, "address.json")
PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "dist", "cli", "main.js")
IS_FULL = os.environ.get("HOOKSPAN_CONTENT_CAPTURE", "").strip().lower() == "full"
# In ASCII: lone surrogates arrive, too.
encode = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=False).encode
senders = {}


def sender():
    """That of this process: a fork has no thread."""
    return senders.get(os.getpid()) or senders.setdefault(os.getpid(), Sender())


class Sender:
    def __init__(self):
        self.id, self.numbers, self.bytes, self.dropped = os.urandom(8).hex(), itertools.count(1), 0, 0
        self.queue, self.lock, self.thread = queue.SimpleQueue(), threading.RLock(), None  # a signal may come in between
        self.retry_at, self.is_full = 0.0, IS_FULL

    def take(self, hook, payload, at=None, **beside):
        """Queues a hook: a payload as JSON. `at`: when it fired, epoch milliseconds; without, it just has."""
        self.put(*self.line(hook, payload, at, beside))

    def ask(self, hook, payload, failing, seconds):
        """Tells a hook, and returns what is said of it: parsed JSON, or None. Raises where nobody answers; told it is all the same."""
        line = self.line(hook, payload)
        try:
            self.drain(ORDER_SECONDS)  # what it belongs to comes first
            if time.monotonic() < self.retry_at:
                raise TimeoutError("it has just not answered")
            return self.request(line[2], seconds, {"x-hookspan-decide": failing})
        except Exception:
            self.put(*line)
            raise

    def line(self, hook, payload, at=None, beside=()):
        at, number = time.time() * 1000 if at is None else at, next(self.numbers)
        record = encode({"hook": hook, "at": at, "host": HOST, "delivery_id": f"{self.id}-{number:08x}", **dict(beside)})
        return number, at, f'{record[:-1]},"payload":{payload}}}'.encode()

    def put(self, number, at, line):
        with self.lock:
            if self.queue.qsize() >= QUEUED or self.bytes + len(line) > QUEUED_BYTES:
                self.dropped += 1
                return
            self.bytes += len(line)
            self.queue.put((number, at, line))
            if self.thread is None:
                thread = threading.Thread(target=self.run, name="hookspan", daemon=True)
                thread.start()
                self.thread = thread

    def drain(self, seconds):
        """Waits until all is out of the queue, and no longer than that."""
        until = time.monotonic() + seconds
        while self.bytes > 0 and time.monotonic() < until:
            time.sleep(0.0005)

    def run(self):
        while True:
            batch = [self.queue.get()]
            while len(batch) < BATCH and not self.queue.empty():
                batch.append(self.queue.get())
            with suppress(Exception):
                taken = self.post(b"\n".join(line for _, _, line in batch))
                if not taken:
                    self.spool(batch)
                if taken is False:
                    start_receiver()
                self.tell_dropped()
            with self.lock:
                self.bytes -= sum(len(line) for _, _, line in batch)

    def post(self, body):
        """Whether the receiver has it for sure; None: it was not asked, because who hangs or refuses is left alone for a second."""
        if time.monotonic() < self.retry_at:
            return None
        with suppress(Exception):
            self.request(body, ANSWER_SECONDS)
            return True
        return False

    def request(self, body, seconds, beside=()):
        """What the receiver answers, parsed; None where it says no more than that it has it. Raises where it has not."""
        try:
            address, token = json.loads(read(ADDRESS)), read(os.path.join(PLACE, "token"))
            headers = {"content-type": "application/x-ndjson", "x-hookspan-token": token, "x-hookspan-client": VERSION}
            with connected(address, seconds) as connection:
                request = http.client.HTTPConnection("localhost")
                request.sock = connection
                request.request("POST", "/v1/hooks", body, {**headers, **dict(beside)})
                response = request.getresponse()
                if response.status >= 300:
                    raise OSError("refused")
                self.is_full = IS_FULL or address.get("content_capture") == "full"
                return json.loads(response.read() or "null") if beside else None
        except Exception:
            self.retry_at = time.monotonic() + RETRY_SECONDS
            raise

    def spool(self, batch):
        make_places()
        sizes = [found(os.path.join(SPOOL, name)).st_size for name in os.listdir(SPOOL)]
        files, size = len(sizes), sum(sizes)
        for number, at, line in batch:
            text = b'{"path":"/v1/hooks","at":%d,"id":"%s-%08x","body":%s}\n' % (at, self.id.encode(), number, line)
            files, size = files + 1, size + len(text)
            try:
                if files > SPOOLED or size > SPOOLED_BYTES:
                    raise OSError("full")
                path = os.path.join(SPOOL, f"{int(at):013}-{os.getpid()}-{number & 0xffffffff:08x}.json")
                write(path + ".tmp", "xb", text)
                os.replace(path + ".tmp", path)
            except OSError:
                self.dropped += 1

    def tell_dropped(self):
        with self.lock:
            dropped, self.dropped = self.dropped, 0
        if dropped:
            make_places()
            write(os.path.join(SPOOL, "dropped"), "a", f"{dropped}\n")


def connected(address, seconds):
    path = address.get("socket")
    if not path or not hasattr(socket, "AF_UNIX"):
        return socket.create_connection(("127.0.0.1", address["port"]), seconds)
    ours(os.lstat(path), stat.S_ISSOCK)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    connection.connect(path)
    return connection


def start_receiver():
    path = os.path.join(PLACE, "starting")
    tried_at = found(path).st_mtime
    if abs(time.time() - tried_at) < START_SECONDS and found(ADDRESS).st_mtime <= tried_at:
        return  # what was started a moment ago has not come up yet
    write(path, "w", "\n")
    node, program = shutil.which("node"), shutil.which("hookspan")
    command = [node, PROGRAM] if node and os.path.isfile(PROGRAM) else [program]
    if command[0]:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.Popen([*command, "serve", "--detach"], cwd=PLACE, start_new_session=True, **quiet)


def make_places():
    for path in (os.path.dirname(PLACE), PLACE, SPOOL):
        os.makedirs(path, 0o700, exist_ok=True)
        if os.stat(path).st_mode & 0o022:
            os.chmod(path, 0o700)  # fails where it is another user's
        ours(os.stat(path), stat.S_ISDIR)


def ours(stats, is_kind):
    """Neither another user's, nor for others to write."""
    is_own = not hasattr(os, "geteuid") or (stats.st_uid == os.geteuid() and not stats.st_mode & 0o022)
    if not is_own or not is_kind(stats.st_mode):
        raise PermissionError("not ours")


def opened(path, flags):
    """A link is not followed."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def read(path):
    with open(path, opener=opened) as file:
        ours(os.fstat(file.fileno()), stat.S_ISREG)
        return file.read().strip()


def write(path, mode, text):
    with open(path, mode, opener=opened) as file:
        file.write(text)


def found(path):
    """Its size and its time; nothing where there is none."""
    with suppress(OSError):
        return os.lstat(path)
    return os.stat_result([0] * 10)
