"""A process that dies between two words with its stores."""


class Died(BaseException):
    """The process is gone; nothing in it runs on."""


class Death:
    """Kills whoever uses what it wraps: after the ``at``-th word with a store was answered, or ``before`` it was sent.

    From then on every further word kills as well, as from a process that is no more.
    """

    def __init__(self, at, *, before=False):
        self.at = at
        self.before = before
        self.words = 0
        self.came = False

    def __call__(self, store):
        return _Mortal(store, self)

    def check(self, moment):
        if self.came or (self.words == self.at and moment == ("before" if self.before else "after")):
            self.came = True
            raise Died


class _Mortal:
    def __init__(self, store, death):
        self._store = store
        self._death = death

    def __getattr__(self, name):
        method = getattr(self._store, name)
        if name == "walk":
            return method

        async def word(*args, **options):
            self._death.words += 1
            self._death.check("before")
            answer = await method(*args, **options)
            self._death.check("after")
            return answer

        return word
