"use strict";
// Renews the content of a live page every two seconds while somebody looks at it. The server makes the same page anew;
// what differs is carried over, so that focus, selection and scrolling stay. Without this script a page just stands still.
(() => {
  const main = document.querySelector("main[data-live]");
  const choice = document.querySelector("header select");
  if (choice) {
    choice.addEventListener("change", () => choice.form.submit());
  }
  if (!main) {
    return;
  }

  const EVERY_MS = 2000;
  const SLOWEST_MS = 30000;
  const LIMIT_MS = 20000;
  const SHARE = 4; // a page that takes long is asked for more rarely

  let paused = false;
  let timer = null;
  let asking = false;
  let failures = 0;

  const button = document.createElement("button");
  button.type = "button";
  const note = document.createElement("span");
  note.className = "muted";
  note.setAttribute("role", "status");
  const tools = document.createElement("span");
  tools.className = "live";
  tools.append(note, button);
  document.querySelector("header .tools").prepend(tools);
  show();

  button.addEventListener("click", () => {
    paused = !paused;
    show();
    plan(0);
  });
  document.addEventListener("visibilitychange", () => plan(0));
  toEnd(main.querySelectorAll("[data-tail]"));
  plan(EVERY_MS);

  function show(problem) {
    button.textContent = paused ? "Resume updates" : "Pause updates";
    const text = problem || (paused ? "Updates are paused" : "Live");
    if (note.textContent !== text) {
      note.textContent = text;
    }
    tools.classList.toggle("bad", Boolean(problem));
  }

  function plan(afterMs) {
    clearTimeout(timer);
    if (!paused && !document.hidden && !asking) {
      timer = setTimeout(renew, afterMs);
    }
  }

  async function renew() {
    const began = performance.now();
    asking = true;
    try {
      await ask();
      failures = 0;
      show();
    } catch (problem) {
      failures += 1;
      show("No answer: trying again");
    } finally {
      asking = false;
    }
    const share = SHARE * (performance.now() - began);
    plan(failures > 0 ? EVERY_MS * 2 ** Math.min(failures, 3) : Math.min(SLOWEST_MS, Math.max(EVERY_MS, share)));
  }

  async function ask() {
    const limit = AbortSignal.timeout(LIMIT_MS);
    const answer = await fetch(location.href, { redirect: "manual", cache: "no-store", signal: limit });
    if (answer.type === "opaqueredirect") {
      location.reload(); // the login
      return;
    }
    if (answer.status >= 500 || answer.status === 429) {
      throw new Error(String(answer.status));
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    if (!fresh || paused) {
      return;
    }
    const atEnd = [...main.querySelectorAll("[data-tail]")].filter(
      (text) => text.scrollHeight - text.scrollTop - text.clientHeight < 4,
    );
    carry(main, fresh);
    toEnd(atEnd);
  }

  function toEnd(texts) {
    texts.forEach((text) => { text.scrollTop = text.scrollHeight; });
  }

  // Makes `old` like `fresh` with as few changes as it takes; elements with a data-key are found again by it.
  function carry(old, fresh) {
    const keyed = new Map();
    for (const child of old.children) {
      if (child.dataset.key !== undefined) {
        keyed.set(child.dataset.key, child);
      }
    }
    let place = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      const key = next.nodeType === Node.ELEMENT_NODE ? next.dataset.key : undefined;
      let found = key !== undefined ? keyed.get(key) : place;
      if (!found || !alike(found, next) || (key === undefined && keyOf(found) !== undefined)) {
        old.insertBefore(document.importNode(next, true), place);
        continue;
      }
      if (found === place) {
        place = place.nextSibling;
      } else {
        old.insertBefore(found, place);
      }
      keyed.delete(key);
      update(found, next);
    }
    while (place) {
      const after = place.nextSibling;
      place.remove();
      place = after;
    }
  }

  function keyOf(node) {
    return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined;
  }

  function alike(one, other) {
    return one.nodeType === other.nodeType && one.nodeName === other.nodeName;
  }

  function update(node, next) {
    if (node.nodeType !== Node.ELEMENT_NODE) {
      if (node.data !== next.data) {
        node.data = next.data;
      }
      return;
    }
    for (const { name } of [...node.attributes]) {
      if (!next.hasAttribute(name)) {
        node.removeAttribute(name);
      }
    }
    for (const { name, value } of next.attributes) {
      if (node.getAttribute(name) !== value) {
        node.setAttribute(name, value);
      }
    }
    carry(node, next);
  }
})();
