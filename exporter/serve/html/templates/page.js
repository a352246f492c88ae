// Follows what changes, copies commands, keeps the focus. The pages are complete without it.
"use strict";

const WAIT = 50; // seconds that a request for the next change may take
const PAUSE = 3000; // milliseconds between two refreshes at least
const RETRY = 10000; // after a failure

const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));

// -- old addresses

const MOVED = {
  networks: "/networks/", instancetypes: "/instancetypes/", features: "/features/",
  drain: "/drain", impact: "/impact", sources: "/health", findings: "/findings",
};
if (location.pathname === "/" && MOVED[location.hash.slice(1)]) {
  location.replace(MOVED[location.hash.slice(1)]);
}

// -- commands

function addCopying(root) {
  for (const block of root.querySelectorAll(".command")) {
    if (block.querySelector("button")) continue;
    const code = block.querySelector("pre");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(code, button));
    block.append(button);
  }
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch { // the clipboard is for pages with TLS only
    getSelection().selectAllChildren(code);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

// -- filters

function applyAtOnce(root) {
  for (const form of root.querySelectorAll("form[data-apply]")) {
    form.addEventListener("change", () => form.requestSubmit());
  }
}

// -- changes

const state = () => document.querySelector("[data-state]");

function say(text) {
  if (state()) state().textContent = text;
}

function isEditing() {
  const active = document.activeElement, main = document.querySelector("main");
  return Boolean(active && active.closest("form") && main.contains(active));
}

// What somebody has opened or closed stays so, and the focus stays on what it was on.
function replaceMain(fresh) {
  const main = document.querySelector("main");
  const opened = new Map([...main.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  const focused = focusOf(main);
  const next = document.importNode(fresh, true);
  for (const each of next.querySelectorAll("details[id]")) {
    if (opened.has(each.id)) each.open = opened.get(each.id);
  }
  addCopying(next);
  applyAtOnce(next);
  main.replaceChildren(...next.childNodes);
  if (focused) focused(main);
}

function focusOf(main) {
  const active = document.activeElement;
  if (!main.contains(active) || active === main) return null;
  const key = (each) => each.id || each.getAttribute("href") || each.textContent;
  const tag = active.tagName, own = key(active);
  return (root) => {
    const again = [...root.querySelectorAll(tag)].find((each) => key(each) === own);
    if (again) again.focus({ preventScroll: true });
  };
}

class LoggedOut extends Error {}

function needs(answer) {
  if (answer.status === 401) throw new LoggedOut();
  if (!answer.ok) throw new Error(`the steward answers ${answer.status}`);
}

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  needs(answer);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (isEditing() || String(getSelection())) return false;
  const now = fresh.querySelector("main"), main = document.querySelector("main");
  if (now && bare(now) !== bare(main)) replaceMain(now);
  document.title = fresh.title;
  document.body.dataset.generation = fresh.body.dataset.generation || "";
  const time = fresh.querySelector(".moment time");
  if (time) document.querySelector(".moment time").replaceWith(document.importNode(time, true));
  return true;
}

// Without what this script has added.
function bare(main) {
  const copied = main.cloneNode(true);
  for (const each of copied.querySelectorAll("button.copy")) each.remove();
  for (const each of copied.querySelectorAll("details")) each.removeAttribute("open");
  return copied.innerHTML;
}

async function changed() {
  const known = document.body.dataset.generation;
  const answer = await fetch(`/api/v1/generation?wait=${WAIT}&generation=${known}`);
  needs(answer);
  return answer.json();
}

async function follow() {
  for (;;) {
    try {
      say("Refreshes itself.");
      await changed();
      while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
      await refresh();
      await sleep(PAUSE);
    } catch (error) {
      if (error instanceof LoggedOut) {
        say("Logged out. Reload the page to log in again.");
        return;
      }
      say(`Not refreshing: ${error.message}. Trying again.`);
      await sleep(RETRY);
    }
  }
}

addCopying(document);
applyAtOnce(document);
const filters = document.getElementById("filters");
if (filters && matchMedia("(max-width: 60rem)").matches) filters.open = false;
if (document.body.dataset.generation) follow();
