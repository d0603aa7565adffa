// One dialog for all that changes something: it says what will happen, and what went wrong.

import { byId, el, text } from "./dom.js";

const dialog = byId("dialog");
const form = byId("dialog-form");
let act = async () => {};
/** Ends what is being done when the dialog is closed. */
let going = new AbortController();

byId("dialog-no").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => going.abort());

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const yes = byId("dialog-yes");
  const mine = new AbortController();
  going = mine;
  const { signal } = mine;
  const say = (id, words) => signal.aborted || text(byId(id), words);
  yes.disabled = true;
  say("dialog-error", "");
  try {
    await act(new FormData(form), { signal, say: (words) => say("dialog-progress", words) });
    if (!signal.aborted) dialog.close();
  } catch (error) {
    say("dialog-error", error.message);
  } finally {
    say("dialog-progress", "");
    if (going === mine) yes.disabled = false;
  }
});

/**
 * Asks, and does `todo` when the answer is yes; an error keeps the dialog open and is shown there.
 * What takes its time is told a `signal` that ends it, and a way to `say` how it goes.
 */
export function ask({ title, body, yes, todo }) {
  act = todo;
  text(byId("dialog-title"), title);
  byId("dialog-body").replaceChildren(...[body].flat().map((part) => (typeof part === "string" ? el("p", {}, part) : part)));
  text(byId("dialog-yes"), yes);
  text(byId("dialog-error"), "");
  text(byId("dialog-progress"), "");
  byId("dialog-yes").disabled = false;
  dialog.showModal();
}

/** Says something to whoever cannot see it change. */
export function announce(words) {
  text(byId("announce"), words);
}
