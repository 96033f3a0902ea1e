"""The pages in Chromium: live while they are looked at, usable by keyboard, and the login by hand."""

import pytest

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import Frame
from integration.ui.visitor import ADMIN, admin

QUEUE = "/ui/ns/default/queues/q"


@pytest.fixture
def look(open_server, browser):
    """``look(path)``: a page of the open server; closed after the test."""
    opened = []

    def look(path):
        opened.append(browser.open(open_server.url + path))
        return opened[-1]

    yield look
    for page in opened:
        page.close()


def asked(page):
    """How often the page was asked for since it was opened."""
    return page.run(
        "performance.getEntriesByType('resource').filter(entry => entry.initiatorType === 'fetch').length"
    )


def test_the_table_of_queues_changes_when_a_job_is_submitted(look, submit):
    page = look("/ui/ns/default")
    assert "No queues yet" in page.text()
    submit("one", "two")
    page.wait("document.querySelector('tr[data-key=q] td.number')?.textContent === '2'")
    assert page.run("document.querySelector('[data-summary]').textContent") == "1 queue, 2 waiting, 0 running"
    submit("three")
    page.wait("document.querySelector('tr[data-key=q] td.number').textContent === '3'")
    assert page.complaints() == []


def test_a_job_s_page_follows_its_stream_and_its_output(look, plane, submit):
    submit("job")
    page = look("/ui/ns/default/job?id=job")
    plane.journal_append_many("job", [Frame(0, wire.WireFrame(wire.FrameKind.VALUE, 0, "first").encode())])
    plane.journal_append("log:job", None, b"line\n" * 200)
    page.wait("document.body.innerText.includes('first') && document.querySelector('pre') !== null")
    page.run("document.querySelector('pre').scrollTop = 1e6")
    plane.journal_append("log:job", None, b"the last line\n")
    page.wait("document.querySelector('pre').textContent.includes('the last line')")
    left = "(text => text.scrollHeight - text.scrollTop - text.clientHeight)(document.querySelector('pre'))"
    assert page.run(left) < 4
    plane.cancel("job")
    page.wait("document.querySelector('h1').innerText.includes('killed')")


def test_focus_stays_where_it_is_when_the_content_changes(look, submit):
    submit("old")
    page = look(QUEUE)
    page.run("document.querySelector('tr[data-key=old] a').focus()")
    submit("new")
    page.wait("document.querySelector('tr[data-key=new]') !== null")
    assert page.run("document.activeElement.textContent") == "old"


def let_a_round_pass(page):
    """Wait until a page has renewed its content."""
    page.run("document.querySelector('main h1').textContent = 'spoiled'")
    page.wait("document.querySelector('main h1').textContent === 'Queues'")


def test_updates_can_be_paused(look, submit):
    page = look("/ui/ns/default")
    page.click("header .live button")
    page.wait("document.querySelector('header .live').innerText.startsWith('Updates are paused')")
    before = asked(page)
    submit("unseen")
    let_a_round_pass(look("/ui/ns/default"))
    page.front()
    page.wait("!document.hidden")
    assert asked(page) == before
    assert "No queues yet" in page.text()
    page.click("header .live button")
    page.wait("document.querySelector('tr[data-key=q]') !== null")


def test_a_hidden_page_asks_for_nothing(look, submit):
    page = look("/ui/ns/default")
    other = look("/ui/ns/default")
    page.wait("document.hidden")
    before = asked(page)
    let_a_round_pass(other)
    let_a_round_pass(other)
    assert asked(page) == before
    submit("seen")
    page.front()
    page.wait("document.querySelector('tr[data-key=q]') !== null")


def test_a_server_that_is_away_is_said_and_comes_back(look, submit, document_server):
    submit("a")
    page = look(QUEUE)
    document_server.kill()
    page.wait("document.querySelector('header .live').innerText.startsWith('No answer')")
    assert "a" in page.run("document.querySelector('main table').innerText")
    document_server.start()
    page.wait("document.querySelector('header .live').innerText.startsWith('Live')", limit_s=60)


def test_a_queue_is_paused_by_its_button(look, submit, open_server):
    submit("a")
    page = look(QUEUE)
    page.click("form[action$='/pause'] button")
    page.wait("document.querySelector('h1').innerText.includes('paused')")
    assert admin(open_server.url, "/v1/queues/q")["queue"]["state"] == "paused"
    assert page.complaints() == []


def test_the_login_by_hand(guarded_server, browser, token_for):
    token_for("producer", namespace="ours")
    page = browser.open(guarded_server.url + "/ui/ns/default")
    assert page.run("location.pathname") == "/ui/login"
    assert page.run("document.activeElement.id") == "token"
    page.type("#token", "dlk_" + "z" * 32)
    page.click(".login button")
    page.wait("document.querySelector('.problem')?.innerText.includes('unknown or was revoked')")
    page.type("#token", ADMIN)
    page.click(".login button")
    page.wait("location.pathname === '/ui/ns/default'")
    assert page.run("document.cookie") == ""
    page.run(
        "(() => { const s = document.querySelector('#ns'); s.value = 'ours';"
        " s.dispatchEvent(new Event('change')) })()"
    )
    page.wait("location.pathname === '/ui/ns/ours'")
    page.click("form[action='/ui/logout'] button")
    page.wait("location.pathname === '/ui/login'")
    page.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_is_wider_than_the_screen(look, submit, width):
    submit(*[f"a-rather-long-name-of-a-job-{n}/with/{'parts' * 12}" for n in range(3)])
    for path in ("/ui/ns/default", QUEUE):
        page = look(path)
        page.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
        )
        page.wait(f"window.innerWidth === {width}")
        assert page.run("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(look, submit, scheme):
    submit("a")
    page = look(QUEUE)
    page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
    weak = page.run(CONTRASTS)
    assert weak == []


# The contrast of every text with what it lies on, by the rule of WCAG 2.2, 1.4.3: at least 4.5.
CONTRASTS = """
(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) { return found; }
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own) { continue; }
    const [one, other] = [light(parts(getComputedStyle(node).color)), light(ground(node))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) { weak.push([node.outerHTML.slice(0, 80), contrast]); }
  }
  return weak;
})()
"""
