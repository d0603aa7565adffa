// Questions to the coordinator, and what people tell it to do.

async function answer(response) {
  if (response.status === 401) {
    location.assign("/login");
  }
  let body = {};
  try {
    body = await response.json();
  } catch {
    // Then the status must do.
  }
  if (!response.ok) throw new Error(body.error ?? `the coordinator answered ${response.status}`);
  return body;
}

export async function get(path, query = {}) {
  const params = new URLSearchParams(query).toString();
  return answer(await fetch(`/api/${path}${params ? `?${params}` : ""}`));
}

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}
