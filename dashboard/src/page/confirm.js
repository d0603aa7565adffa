// The dialog that confirms each change. It describes the change, and shows progress and errors.

import { byId, el, text } from "./dom.js";

const dialog = byId("dialog");
const form = byId("dialog-form");
/** Action that the dialog confirms. */
let currentAction = async () => {};
/** Aborts the running action when the dialog is closed. */
let running = new AbortController();

byId("dialog-no").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => running.abort());

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const yes = byId("dialog-yes");
  const controller = new AbortController();
  running = controller;
  const { signal } = controller;
  const show = (id, message) => signal.aborted || text(byId(id), message);
  yes.disabled = true;
  show("dialog-error", "");
  try {
    await currentAction(new FormData(form), { signal, showProgress: (message) => show("dialog-progress", message) });
    if (!signal.aborted) dialog.close();
  } catch (error) {
    show("dialog-error", error.message);
  } finally {
    show("dialog-progress", "");
    if (running === controller) yes.disabled = false;
  }
});

/**
 * Opens the dialog, and runs `onConfirm` with the form's data when it is confirmed. If that throws, the dialog
 * stays open and shows the error. `onConfirm` also gets a `signal`, aborted when the dialog is closed, and
 * `showProgress`, which shows a message in the dialog.
 */
export function openDialog({ title, body, confirmLabel, onConfirm }) {
  currentAction = onConfirm;
  text(byId("dialog-title"), title);
  byId("dialog-body").replaceChildren(...[body].flat().map((part) => (typeof part === "string" ? el("p", {}, part) : part)));
  text(byId("dialog-yes"), confirmLabel);
  text(byId("dialog-error"), "");
  text(byId("dialog-progress"), "");
  byId("dialog-yes").disabled = false;
  dialog.showModal();
}

/** Announces a message to screen readers. */
export function announce(message) {
  text(byId("announce"), message);
}
