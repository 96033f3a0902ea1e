"""A replica of the control plane in a thread of this process, so that a test can move its clock."""

import asyncio
import threading

import uvloop

from lakeshore_controlplane.assembly import assemble
from lakeshore_controlplane.serving import address_of, bind, make_server
from lakeshore_controlplane.settings import Settings

LIMIT_S = 30


class ReplicaThread:
    """``with ReplicaThread(clock, mongo_url=..., ...) as replica: replica.url``; keywords are its settings."""

    def __init__(self, clock, **settings):
        self.settings = Settings(host="127.0.0.1", port=0, **settings)
        self._clock = clock
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replica")
        self._failure = None

    def __enter__(self):
        self._listener = bind(self.settings.host, 0)
        self.url = address_of(self._listener)
        self._thread.start()
        assert self._started.wait(LIMIT_S), "the replica did not start"
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_error):
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "the replica did not stop"
        self._listener.close()
        if self._failure is not None:
            raise self._failure

    def _run(self):
        try:
            uvloop.run(self._serve())
        except BaseException as exc:
            self._failure = exc
        finally:
            self._started.set()

    async def _serve(self):
        self._loop = asyncio.get_running_loop()
        self.plane = assemble(self.settings, clock=self._clock)
        self._server = make_server(self.plane, self.settings)
        serving = asyncio.ensure_future(self._server.serve(sockets=[self._listener]))
        while not (self._server.started or serving.done()):  # uvicorn tells of its start in no other way
            await asyncio.wait([serving], timeout=0.005)
        self._started.set()
        await serving

    def _stop(self):
        self.plane.begin_stop()
        self._server.should_exit = True
