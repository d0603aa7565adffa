// Questions to the coordinator, and what people tell it to do.

const at = (path, query) => {
  const params = new URLSearchParams(query).toString();
  return `/api/${path}${params ? `?${params}` : ""}`;
};

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
  return answer(await fetch(at(path, query)));
}

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** Asks what takes its time: each line of the answer is heard as it comes, and the last is returned. */
export async function follow(path, query, { signal, hear }) {
  const response = await fetch(at(path, query), { signal });
  if (!response.ok) return answer(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, last] = ["", {}];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      hear(last);
    }
  }
  if (last.error) throw new Error(last.error);
  return last;
}
