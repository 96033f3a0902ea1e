"""A document server as a child process, for one machine and for tries: MongoDB's own, or SecantusDB's.

Neither is part of this distribution. The child ends with us, however we end, and its data folder belongs to one
of us at a time.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

PROGRAMS = ("mongod", "secantusd-rs")
READY = (
    b"Waiting for connections",
    b"listening on",
)  # what the one and the other writes when it has its port
START_LIMIT_S = 60.0  # a first look at a large data folder after a hard stop takes a while
STOP_LIMIT_S = 20.0
ENGINE = {"WIREDTIGER_CONFIG": "transaction_sync=(enabled=true,method=none)"}
"""How secantusd-rs commits: the system has each write before it is answered, and the disk soon after. So our or its
death loses nothing, a power failure perhaps the last moments, as with a local plane's file. mongod takes no notice."""
LOCK_LIMIT_S = 5.0  # a predecessor that was killed leaves a child which is still closing its files
NOT_FOUND = (
    "no document server found: install mongod, or run `cargo install secantus-mdb --version 0.5.3-beta.196 "
    "--ignore-rust-version`, or set LAKESHORE_SECANTUSD to the path of secantusd-rs"
)


class EmbeddedServerError(Exception):
    """The document server cannot be started; the message is one line that says what to do."""


class DocumentServer:
    """A document server on a free port of 127.0.0.1: ``with DocumentServer(folder) as server: server.url``.

    Its rows stay in ``folder`` (made when missing), its log in ``folder/server.log``. Start it before an event
    loop runs: entering waits until it answers, leaving until it has ended.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._lock: IO[str] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What a MongoDB client connects to.

        Without its retries of writes: they bridge elections, and would cost a single server a third of its time.
        """
        return f"{document_url(self.port)}&retryWrites=false"

    @property
    def running(self) -> bool:
        """Whether the server is there (it may have died by itself since)."""
        if self._server is None:
            return False
        if self._server.poll() is None:
            return True
        self._dismiss_watcher()  # its process id may soon be another's
        return False

    def __enter__(self) -> Self:
        """Start it and wait until it answers. Raises ``EmbeddedServerError`` with nothing left behind."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = lock_folder(self.folder)
        except OSError as error:
            raise EmbeddedServerError(
                f"the data folder {self.folder} cannot be used: {error.strerror}"
            ) from None
        program = program_for(self.folder)
        data = self.folder / kind_of(program)
        self.port = free_port()
        log = self.folder / "server.log"
        with log.open("wb") as out:
            self._server = subprocess.Popen(
                command(program, self.port, data),
                env=os.environ | ENGINE,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours: it must outlive our last writes
                pass_fds=[self._lock.fileno()],  # the folder stays locked until it has ended too
            )
        self._watcher = watch(self._server.pid)
        self._wait_until_it_answers(log)

    def _wait_until_it_answers(self, log: Path) -> None:
        ends = time.monotonic() + START_LIMIT_S
        # Its own word first: another's server may have taken the port meanwhile, and would answer as well.
        while not (says_ready(log) and answers(self.port)):
            if not self.running:
                raise EmbeddedServerError(
                    f"the document server ended while it started: {last_line(log)} (see {log})"
                )
            if time.monotonic() > ends:
                raise EmbeddedServerError(
                    f"the document server did not answer in {START_LIMIT_S:g} s (see {log})"
                )
            time.sleep(0.01)

    def close(self) -> None:
        """End the server, at the latest after ``STOP_LIMIT_S``; safe to call twice."""
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None
        self._dismiss_watcher()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _dismiss_watcher(self) -> None:
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.communicate()
            self._watcher = None


def document_url(port: int) -> str:
    """Give the URL of a document server of this machine, spoken to as it is and not as a replica set's member."""
    return f"mongodb://127.0.0.1:{port}/?directConnection=true"


def find_program(names: tuple[str, ...] = PROGRAMS) -> Path | None:
    """Find a document server: LAKESHORE_SECANTUSD, then PATH, then where ``scripts/servers`` puts one."""
    named = os.environ.get("LAKESHORE_SECANTUSD")
    if named and "secantusd-rs" in names:
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise EmbeddedServerError(f"LAKESHORE_SECANTUSD is not a program that can be run: {named}")
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for name in names:
        found = shutil.which(name) or shutil.which(name, path=str(cache / "lakeshore" / "servers" / "bin"))
        if found:
            return Path(found)
    return None


def kind_of(program: Path) -> str:
    """Tell which of ``PROGRAMS`` a program is: what is not called mongod was named as a secantusd-rs."""
    return "mongod" if program.name == "mongod" else "secantusd-rs"


def program_for(folder: Path) -> Path:
    """Choose the server for a data folder: the one that made it, as neither reads the other's files."""
    made_by = tuple(name for name in PROGRAMS if (folder / name).is_dir())
    program = find_program(made_by or PROGRAMS)
    if program is None and made_by:
        raise EmbeddedServerError(
            f"{folder} was written by {made_by[0]}, which is not there any more. {NOT_FOUND}"
        )
    if program is None:
        raise EmbeddedServerError(NOT_FOUND)
    return program


def command(program: Path, port: int, data: Path) -> list[str]:
    """Make the data folder and give the command line of either server.

    What a server acknowledged survives its own kill -9, provided that the client asks mongod for the journal.
    """
    data.mkdir(parents=True, exist_ok=True)
    if kind_of(program) == "mongod":
        return [
            str(program),
            "--bind_ip",
            "127.0.0.1",
            "--port",
            str(port),
            "--dbpath",
            str(data),
            "--wiredTigerCacheSizeGB",
            "0.25",
        ]
    empty = data / "secantusd.toml"
    empty.touch()
    settings = {
        "--config": str(empty),  # else it reads one from where we happen to be, or from the home folder
        "--host": "127.0.0.1",
        "--port": str(port),
        "--storage-path": str(data),
        "--log-level": "WARNING",
        "--cache-size": "256M",
        "--log-file-max": "16MB",  # the size of an empty store
    }
    # Without it writes stay in the process for a while, and kill -9 loses the last hundreds; see ENGINE.
    return [str(program), *(word for pair in settings.items() for word in pair), "--sync-on-commit"]


def lock_folder(folder: Path) -> IO[str]:
    """Take the folder for us and our child. Raises ``EmbeddedServerError`` when another has it."""
    lock = (folder / "lock").open("a+")
    ends = time.monotonic() + LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < ends:
                time.sleep(0.05)
                continue
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise EmbeddedServerError(
                f"the data folder {folder} is in use by another server (process {holder}): "
                "stop that one, or name another folder"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        return lock


def free_port() -> int:
    """Give a port that nobody listens on, below those that the system hands to outgoing connections."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise EmbeddedServerError("no free port found between 20000 and 32000 on 127.0.0.1")


def watch(pid: int) -> subprocess.Popen[bytes]:
    """Start the watcher that ends ``pid`` when we are gone: then the pipe that only we hold is closed."""
    return subprocess.Popen(
        ["/bin/sh", "-c", 'read -r _; kill "$1"', "sh", str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def answers(port: int, limit_s: float = 1.0) -> bool:
    """Tell whether a server answers ``ping`` in MongoDB's protocol."""
    document = b"\x10ping\x00\x01\x00\x00\x00\x02$db\x00\x06\x00\x00\x00admin\x00\x00"
    body = struct.pack("<IB", 0, 0) + struct.pack("<i", len(document) + 4) + document
    op_msg = struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body
    try:
        with socket.create_connection(("127.0.0.1", port), limit_s) as connection:
            connection.sendall(op_msg)
            return b"\x01ok\x00" + struct.pack("<d", 1.0) in connection.recv(4096)
    except OSError:
        return False


def says_ready(log: Path) -> bool:
    """Tell whether the server of this log has its port."""
    text = log.read_bytes()
    return any(words in text for words in READY)


def last_line(log: Path, limit: int = 300) -> str:
    """Give the last line of a log, shortened, or "no output"."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:limit] if lines else "no output"
