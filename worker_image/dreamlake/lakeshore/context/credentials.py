"""Short-lived access to one bucket, in the shape that S3 clients take."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class TemporaryCredentials:
    """Keys for one bucket (or one ``prefix`` of it) until ``expiration``.

    ``expiration`` is a datetime with a time zone. ``endpoint`` is the URL of an S3-compatible server, None
    for AWS. Neither the secret key nor the session token appears in the representation.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False)
    expiration: datetime
    region: str
    bucket: str
    prefix: str | None = None
    endpoint: str | None = None

    def __post_init__(self) -> None:
        """Refuse an expiration that means another moment on every machine."""
        if self.expiration.tzinfo is None:
            raise ValueError(
                "expiration has no time zone: pass one, for example datetime.now(UTC) + timedelta(hours=1)"
            )

    def expired(self, at: datetime | None = None) -> bool:
        """Say whether the credentials have ended at ``at`` (default: now)."""
        return (at or datetime.now(UTC)) >= self.expiration

    def to_boto3_kwargs(self) -> dict[str, str]:
        """Give the keyword arguments of ``boto3.client("s3", ...)``."""
        kwargs = {
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
            "aws_session_token": self.session_token,
            "region_name": self.region,
        }
        if self.endpoint is not None:
            kwargs["endpoint_url"] = self.endpoint
        return kwargs
