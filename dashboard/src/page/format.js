// Formats of numbers and times for people.

const whole = new Intl.NumberFormat("en");
const small = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const missing = (value) => value === null || value === undefined;

export const count = (n) => (missing(n) ? "–" : whole.format(n));

export const rate = (n) => {
  if (missing(n)) return "–";
  return n >= 100 ? whole.format(Math.round(n)) : small.format(n);
};

export function bytes(n) {
  if (missing(n)) return "–";
  let unit = 0;
  while (n >= 1024 && unit < 5) {
    n /= 1024;
    unit += 1;
  }
  const name = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
  return `${unit === 0 ? whole.format(Math.round(n)) : small.format(n)} ${name}`;
}

export const percent = (share) => `${tenth.format(share * 100)} %`;

export const time = (ms) => (missing(ms) ? "–" : clock.format(new Date(ms)));

/** Formats a duration. */
export function duration(ms) {
  if (missing(ms)) return "–";
  const secs = ms / 1000;
  if (secs < 1) return `${Math.round(ms)} ms`;
  if (secs < 60) return `${small.format(secs)} s`;
  if (secs < 3600) return `${Math.floor(secs / 60)} min ${Math.floor(secs % 60)} s`;
  if (secs < 86400) return `${Math.floor(secs / 3600)} h ${Math.floor((secs % 3600) / 60)} min`;
  return `${Math.floor(secs / 86400)} d ${Math.floor((secs % 86400) / 3600)} h`;
}

export const micros = (us) => (us < 1000 ? `${us} µs` : duration(us / 1000));

/** Formats a time relative to `now`; both in milliseconds since 1970. */
export function relativeTime(ms, now) {
  if (missing(ms)) return "–";
  const left = ms - now;
  if (Math.abs(left) < 500) return "now";
  return left > 0 ? `in ${duration(left)}` : `${duration(-left)} ago`;
}

/** Replaces the hyphens of a name with spaces. */
export const withSpaces = (name) => name.replaceAll("-", " ");
