"""A browser without a screen: keeps cookies, follows no redirect by itself, reads tables and forms."""

import http.client
import json
import urllib.request
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit

LIMIT_S = 30
ADMIN = "dlk_" + "a" * 32


class Answer:
    """What came back: ``status``, ``headers``, ``text``, and what a reader would see as ``words``."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.text = body.decode("utf-8")
        self.page = PageReader(self.text)

    @property
    def words(self):
        return " ".join("".join(self.page.words).split())


class PageReader(HTMLParser):
    """The tags of a page with their attributes, its words, and the hidden fields of its forms."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.words = []
        self.fields = {}
        self.links = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "input" and attributes.get("type") == "hidden":
            self.fields[attributes["name"]] = attributes["value"]
        if tag == "a":
            self.links.append(attributes["href"])

    def handle_data(self, data):
        self.words.append(data)
        self.words.append(" ")

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


class Visitor:
    """``Visitor(url).get("/ui")``."""

    def __init__(self, url):
        self._host = urlsplit(url).netloc
        self.cookies = {}

    def get(self, path, **headers):
        return self._ask("GET", path, None, headers)

    def post(self, path, form, **headers):
        headers.setdefault("content-type", "application/x-www-form-urlencoded")
        body = form if isinstance(form, bytes) else urlencode(form)
        return self._ask("POST", path, body, headers)

    def login(self, token):
        """Log in as the form does; the answer to it."""
        form = self.get("/ui/login").page.fields
        return self.post("/ui/login", {**form, "token": token})

    def press(self, page_path, verb):
        """Press a lifecycle button of a queue's page."""
        fields = self.get(page_path).page.fields
        return self.post(f"{page_path}/{verb}", fields)

    def _ask(self, method, path, body, headers):
        connection = http.client.HTTPConnection(self._host, timeout=LIMIT_S)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.cookies:
                named["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            for line in answer.headers.get_all("set-cookie", []):
                self._keep(line)
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def _keep(self, line):
        for name, morsel in SimpleCookie(line).items():
            if morsel["max-age"] == "0" or not morsel.value:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value


def admin(url, path, body=None, method=None):
    """Ask the API as an admin."""
    request = urllib.request.Request(
        url + path, None if body is None else json.dumps(body).encode(), method=method
    )
    request.add_header("authorization", f"Bearer {ADMIN}")
    request.add_header("content-type", "application/json")
    request.add_header("accept", "application/json")
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return json.loads(answer.read())
