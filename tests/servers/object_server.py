"""A server that speaks S3's protocol."""

import os
import urllib.error
import urllib.request
from pathlib import Path

from servers.process import GivenServer, ServerProcess, find_program

REGION = "us-east-1"


class ObjectServer(ServerProcess):
    name = "the object server"
    access_key = "test-access"
    secret_key = "test-secret-of-nobody"

    def command(self):
        program = find_program("minio", "versitygw")
        address = f"127.0.0.1:{self.port}"
        if Path(program).name == "minio":
            return [program, "server", "--quiet", "--address", address, str(self.data)]
        return [program, "--quiet", "--port", address, "--region", REGION, "posix", str(self.data)]

    def environment(self):
        return os.environ | {
            "MINIO_ROOT_USER": self.access_key,
            "MINIO_ROOT_PASSWORD": self.secret_key,
            "MINIO_BROWSER": "off",
            "ROOT_ACCESS_KEY": self.access_key,
            "ROOT_SECRET_KEY": self.secret_key,
        }

    def answers(self):
        try:
            with urllib.request.urlopen(self.url, timeout=1):
                return True
        except urllib.error.HTTPError as refused:
            refused.close()
            return refused.code < 500  # without a signature it refuses; that is an answer
        except OSError:
            return False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


class GivenObjectServer(GivenServer):
    """An S3 that the environment names with its keys."""

    def __init__(self, variable):
        super().__init__(variable)
        self.access_key = os.environ.get(f"{variable.removesuffix('_URL')}_ACCESS_KEY", "")
        self.secret_key = os.environ.get(f"{variable.removesuffix('_URL')}_SECRET_KEY", "")
