// One dialog for all that changes something: it says what will happen, and what went wrong.

import { byId, el, text } from "./dom.js";

const dialog = byId("dialog");
const form = byId("dialog-form");
let act = async () => {};

byId("dialog-no").addEventListener("click", () => dialog.close());

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const yes = byId("dialog-yes");
  yes.disabled = true;
  text(byId("dialog-error"), "");
  try {
    await act(new FormData(form));
    dialog.close();
  } catch (error) {
    text(byId("dialog-error"), error.message);
  } finally {
    yes.disabled = false;
  }
});

/** Asks, and does `todo` when the answer is yes; an error keeps the dialog open and is shown there. */
export function ask({ title, body, yes, todo }) {
  act = todo;
  text(byId("dialog-title"), title);
  byId("dialog-body").replaceChildren(...[body].flat().map((part) => (typeof part === "string" ? el("p", {}, part) : part)));
  text(byId("dialog-yes"), yes);
  text(byId("dialog-error"), "");
  dialog.showModal();
}

/** Says something to whoever cannot see it change. */
export function announce(words) {
  text(byId("announce"), words);
}
