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

    model_config = SettingsConfigDict(env_prefix="LAKESHORE_", extra="ignore")

    host: str = "127.0.0.1"
    port: int = Field(default=8750, ge=0, le=65_535)
    mongo_url: SecretStr = SecretStr("mongodb://127.0.0.1:27017")
    mongo_database: str = "lakeshore"
    redis_url: SecretStr | None = None
    """Without it lanes, bells and tails live in this process: right for one replica only."""
    blobs: Literal["none", "folder", "s3"] = "none"
    blob_folder: str | None = None
    s3_endpoint: str | None = None
    s3_bucket: str = "lakeshore"
    s3_region: str = "us-east-1"
    s3_access_key: SecretStr | None = None
    s3_secret_key: SecretStr | None = None
    s3_prefix: str = ""
    s3_path_style: bool = True
    s3_public_endpoint: str | None = None
    """The endpoint as clients reach it, where it is another one."""
    s3_presigning: bool = True
    auth: Literal["tokens", "off"] = "tokens"
    bootstrap_token: SecretStr | None = None
    inline_limit: int = Field(default=_MIB, ge=0, le=8 * _MIB)
    payload_limit: int = Field(default=64 * _MIB, ge=_MIB)
    code_limit: int = Field(default=256 * _MIB, ge=_MIB)
    longest_wait_s: float = Field(default=120.0, gt=0)
    sweep_every_s: float = Field(default=1.0, gt=0)
    stop_grace_s: float = Field(default=10.0, ge=0)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "json"

    @field_validator("redis_url", "bootstrap_token", mode="before")
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
