"""A plane's clock that tests move by hand."""


class HandClock:
    """Stands still until it is moved; its wall clock can be set like anyone's."""

    def __init__(self):
        self.since_boot = 1000.0
        self.wall_time = 1_800_000_000.0
        self.boot_name = "first-boot"
        self.slept = 0.0

    def steady(self):
        return self.since_boot

    def awake(self):
        return self.since_boot - self.slept

    def wall(self):
        return self.wall_time

    def boot(self):
        return self.boot_name

    def advance(self, seconds):
        self.since_boot += seconds
        self.wall_time += seconds

    def sleep(self, seconds):
        """Let the machine sleep, as a laptop with its lid closed."""
        self.advance(seconds)
        self.slept += seconds

    def reboot(self, name="second-boot"):
        self.since_boot = 5.0
        self.slept = 0.0
        self.boot_name = name
