// Partial updates of server-rendered pages. Everything works without this file; with it, results come as you type.
"use strict";

const tab = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
const PAUSE = 120;

/** Fetch a part of a page and put it in place of `selector`; an older request for it is given up. `keep` the address. */
const running = new Map();
async function replacePart(url, selector, { body, keep = false } = {}) {
  running.get(selector)?.abort();
  const control = new AbortController();
  running.set(selector, control);
  const target = document.querySelector(selector);
  if (!target) return;
  target.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(url, {
      method: body ? "POST" : "GET",
      body,
      headers: { "X-Memslot-Part": `${tab}${selector}` },
      signal: control.signal,
      credentials: "same-origin",
    });
    if (response.status === 204) return;
    const text = await response.text();
    if (control.signal.aborted) return;
    const holder = document.createElement("template");
    holder.innerHTML = text;
    const fresh = holder.content.querySelector(selector);
    if (fresh) target.replaceWith(fresh);
    else target.replaceChildren(holder.content);
    if (keep) history.replaceState(null, "", url);
    say(document.querySelector(`${selector} [data-said]`)?.textContent ?? "");
  } catch (error) {
    if (error.name === "AbortError") return;
    target.textContent = "The inspector does not answer: is it still running?";
    say(target.textContent);
  } finally {
    if (running.get(selector) === control) running.delete(selector);
    document.querySelector(selector)?.removeAttribute("aria-busy");
  }
}

/** Tell a screen reader how it went, in one line: a live region that held the part would read out all of it. */
function say(text) {
  const line = document.getElementById("said");
  if (line) line.textContent = text;
}

function valuesOf(form) {
  return new URLSearchParams(new FormData(form));
}

// Search as you type.
for (const form of document.querySelectorAll("form[data-live]")) {
  let timer;
  const update = () => replacePart(`${form.getAttribute("action")}?${valuesOf(form)}`, form.dataset.live, { keep: true });
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(update, PAUSE);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    update();
  });
}

// Forms whose answer is put below them.
for (const form of document.querySelectorAll("form[data-part]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    replacePart(form.getAttribute("action"), form.dataset.part, { body: valuesOf(form), keep: true });
  });
}

// Parts that are slow to make come after the page.
for (const holder of document.querySelectorAll("[data-load]")) {
  holder.id = holder.id || `load-${Math.random().toString(36).slice(2)}`;
  replacePart(holder.dataset.load, `#${holder.id}`);
}

// A form is sent once.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A notice is said once, not again when the page is reloaded.
const here = new URL(location.href);
if (here.searchParams.has("notice")) {
  here.searchParams.delete("notice");
  history.replaceState(null, "", here);
}

// On a phone the menu is one line that scrolls.
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// Read the dot of the map that is pointed at.
const caption = document.getElementById("point");
if (caption) {
  document.querySelector(".map")?.addEventListener("pointerover", (event) => {
    const title = event.target.closest("a")?.querySelector("title");
    if (title) caption.textContent = title.textContent;
  });
}

// Drag the memories of the slot into another order.
for (const list of document.querySelectorAll("[data-sort]")) {
  let dragged;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    event.dataTransfer.effectAllowed = "move";
  });
  list.addEventListener("dragover", (event) => event.preventDefault());
  list.addEventListener("drop", (event) => {
    event.preventDefault();
    const over = event.target.closest("li");
    if (!dragged || !over || dragged === over) return;
    const [from, to] = [dragged.querySelector("select"), over.querySelector("select")];
    [from.value, to.value] = [to.value, from.value];
  });
}

// "/" goes to the search field, as in many programs.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  const field = document.querySelector("input[type=search]");
  if (field) field.focus();
  else location.assign("/");
});
