// Requests to the JSON API of the coordinator.

const urlOf = (path, query) => {
  const params = new URLSearchParams(query).toString();
  return `/api/${path}${params ? `?${params}` : ""}`;
};

/** Returns the JSON body of a response. Throws if the status is an error; a 401 opens the login page. */
async function readJson(response) {
  if (response.status === 401) {
    location.assign("/login");
  }
  let body = {};
  try {
    body = await response.json();
  } catch {
    // Without a JSON body, the error names the status.
  }
  if (!response.ok) throw new Error(body.error ?? `the coordinator answered ${response.status}`);
  return body;
}

export async function get(path, query = {}) {
  return readJson(await fetch(urlOf(path, query)));
}

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  return readJson(await fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** Reads a response of one JSON object per line. Calls `onLine` with each object on arrival; returns the last one. */
export async function streamLines(path, query, { signal, onLine }) {
  const response = await fetch(urlOf(path, query), { signal });
  if (!response.ok) return readJson(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, last] = ["", {}];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      onLine(last);
    }
  }
  if (last.error) throw new Error(last.error);
  return last;
}
