"""What every tier may ask for; nothing is started before a test does."""

pytest_plugins = ["servers.fixtures"]
