"""A server that speaks MongoDB's protocol."""

from lakeshore_controlplane import embedded
from servers.process import ServerProcess


class DocumentServer(ServerProcess):
    name = "the document server"
    ready = embedded.READY

    def command(self):
        program = embedded.find_program()
        assert program is not None, "no mongod or secantusd-rs found: run scripts/servers"
        return embedded.command(program, self.port, self.data)

    def answers(self):
        return embedded.answers(self.port)

    @property
    def url(self):
        return embedded.document_url(self.port)
