"""Settings of one replica, from the environment: ``LAKESHORE_`` and the field's name in capitals."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_MIB = 1 << 20


class SettingsError(Exception):
    """A setting cannot be used as it is; the message names the variable."""


class Settings(BaseSettings):
    """What a replica has to know. Everything has a default that works next to local stores."""

    # The text below each field is its meaning in docs/operations.md: see ``settings_reference``.
    model_config = SettingsConfigDict(env_prefix="LAKESHORE_", extra="ignore", use_attribute_docstrings=True)

    host: str = "127.0.0.1"
    """Address to listen on. In a container `0.0.0.0`, which is the image's default."""
    port: int = Field(default=8750, ge=0, le=65_535)
    """Port to listen on; 0 takes a free one."""
    mongo_url: SecretStr = SecretStr("mongodb://127.0.0.1:27017")
    """The document server. Writes wait for a majority and its journal, whatever the URL says."""
    mongo_database: str = "lakeshore"
    """The database that all replicas share."""
    redis_url: SecretStr | None = None
    """Redis or Valkey: `redis://`, `rediss://` or `unix://`. Without it lanes, bells and tails live in this process:
    right for one replica only."""
    blobs: Literal["none", "folder", "s3"] = "none"
    """Where payloads above `LAKESHORE_INLINE_LIMIT` and pushed code go. `none`: there is neither."""
    blob_folder: str | None = None
    """The folder of `LAKESHORE_BLOBS=folder`. Several replicas need one folder that all of them see."""
    s3_endpoint: str | None = None
    """The S3 endpoint as replicas reach it. Without it, that of AWS in the region."""
    s3_bucket: str = "lakeshore"
    """The bucket. It must be there; it is not made."""
    s3_region: str = "us-east-1"
    """Its region."""
    s3_access_key: SecretStr | None = None
    """Access key. Without it the machine's own credentials are used: environment, profile or role."""
    s3_secret_key: SecretStr | None = None
    """The secret of the access key."""
    s3_prefix: str = ""
    """Put before every key, for a bucket that others use too."""
    s3_path_style: bool = True
    """Put the bucket into the path and not into the host's name."""
    s3_public_endpoint: str | None = None
    """The endpoint as clients and workers reach it, where it is another one."""
    s3_presigning: bool = True
    """Let clients and workers speak to the store by signed URLs. `false` where they cannot reach it: everything passes
    through the replicas then."""
    auth: Literal["tokens", "off"] = "tokens"
    """`off` asks for no tokens: everybody is an admin, and only requests to a name of this machine are answered."""
    bootstrap_token: SecretStr | None = None
    """The first admin token, for all namespaces: `dlk_` and 16 to 200 letters, digits, `-` or `_`."""
    inline_limit: int = Field(default=_MIB, ge=0, le=4 * _MIB)
    """Bytes of arguments or a result that stay in the row; what is larger goes to the blob store."""
    payload_limit: int = Field(default=64 * _MIB, ge=_MIB)
    """Bytes of one payload that pass through a replica. Larger ones are uploaded by signed URLs."""
    code_limit: int = Field(default=256 * _MIB, ge=_MIB)
    """Bytes of one archive of code."""
    longest_wait_s: float = Field(default=120.0, gt=0)
    """The longest that a long poll is held, whatever its client asks for."""
    sweep_every_s: float = Field(default=2.0, gt=0)
    """Seconds between two looks for leases and deadlines that ran out."""
    stop_grace_s: float = Field(default=10.0, ge=0)
    """Seconds that requests get to end after SIGTERM. Long polls are answered at once and need none of it."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is logged."""
    log_format: Literal["json", "text"] = "json"
    """One JSON object a line, or text for people."""

    @field_validator(
        "redis_url",
        "blob_folder",
        "s3_endpoint",
        "s3_access_key",
        "s3_secret_key",
        "s3_public_endpoint",
        "bootstrap_token",
        mode="before",
    )
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return None if value == "" else value


def read_settings(**given: object) -> Settings:
    """Read the environment; ``given`` wins. Raises ``SettingsError`` with one line for each wrong variable."""
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as exc:
        lines = [
            f"LAKESHORE_{'_'.join(str(part) for part in error['loc']).upper()}: {error['msg']}"
            for error in exc.errors()
        ]
        raise SettingsError("; ".join(lines)) from None
