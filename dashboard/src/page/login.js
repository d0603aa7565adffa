// The login form: sends the token, and shows the reason if it is refused.

const byId = (id) => document.getElementById(id);
const text = (node, value) => { node.textContent = value; };

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = new FormData(event.target).get("token");
  const headers = { "content-type": "application/json" };
  try {
    const response = await fetch("/api/login", { method: "POST", headers, body: JSON.stringify({ token }) });
    if (response.ok) location.assign("/");
    else text(byId("said"), (await response.json()).error ?? "The login failed.");
  } catch {
    text(byId("said"), "The coordinator does not respond.");
  }
});
