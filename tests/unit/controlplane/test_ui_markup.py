"""Nothing that is put into a page can become more than text, and nothing leads out of our pages."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.markup import Markup, escape, html, join

surrogates_too = st.text(alphabet=st.characters(), max_size=60)
hostile = st.one_of(
    surrogates_too,
    st.sampled_from(
        ["<script>x()</script>", "\"><img src=x onerror='x()'>", "</title><script>", "&lt;", "'", "{x}"]
    ),
)


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.words += data


@given(text=hostile, tip=hostile)
def test_a_part_stays_the_text_of_its_place(text, tip):
    found = Reader(html('<b title="{tip}">{text}</b>', text=text, tip=tip))
    assert [tag for tag, _ in found.tags] == ["b"]
    assert [name for name, _ in found.tags[0][1]] == ["title"]


@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("C",)), max_size=60))
def test_what_a_reader_sees_is_what_was_put_in(text):
    assert Reader(html("<p>{text}</p>", text=text)).words == text


@given(text=surrogates_too)
def test_every_text_has_bytes(text):
    html("<p>{text}</p>", text=text).encode("utf-8")


def test_marks_that_turn_text_around_and_controls_are_shown_as_such():
    assert escape("a\u202eb\0c\x1b[31m") == "a\ufffdb\ufffdc\ufffd[31m"


def test_markup_is_not_escaped_again():
    assert html("<p>{inner}</p>", inner=html("<i>{x}</i>", x="&")) == "<p><i>&amp;</i></p>"
    assert join([Markup("<br>"), "<br>", None, 3]) == "<br>&lt;br&gt;3"


def test_an_attribute_without_quotes_is_refused():
    with pytest.raises(ValueError, match="quotes"):
        html("<a href={x}>", x="y")


@pytest.mark.parametrize("inv_id", ["..", "../../login", "a/../b", "//evil", "a:b.c/d-e"])
def test_a_job_id_never_moves_its_address(inv_id):
    path, _, query = paths.job("default", inv_id).partition("?")
    assert path == "/ui/ns/default/job"
    assert "/" not in query


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/ui//evil.example",
        "/ui\r\nSet-Cookie: a=b",
        "/uix",
        "javascript:x()",
        "/v1/queues",
        "",
        None,
        "/ui/" + "a" * 5_000,
    ],
)
def test_no_redirect_leads_out(path):
    assert paths.inside(path) == "/ui"


@pytest.mark.parametrize("path", ["/ui", "/ui/ns/default", "/ui/ns/a:b/job?id=x%2Fy", "/ui?ns=other"])
def test_redirects_lead_to_our_pages(path):
    assert paths.inside(path) == path
