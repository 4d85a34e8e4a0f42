"use strict";

/* The page of a kiosk: sends texts, shows what becomes of them. All it knows comes from the kiosk's API. */

const EVENTS_SHOWN = 8;
const LOOK_MS = { speaking: 400, idle: 2000 };
const COME_BACK_MS = 2000;

let token = "";
let lastEventId = "";
let following = null;
let isPaused = false;
let looking = 0;

const at = (id) => document.getElementById(id);
const put = (id, text) => {
  if (at(id).textContent !== text) at(id).textContent = text;
};

class Refusal extends Error {
  constructor(status, error) {
    super(error.next ? `${error.message}: ${error.next}` : error.message);
    this.status = status;
  }
}

function headers(more = {}) {
  return token ? { Authorization: `Bearer ${token}`, ...more } : more;
}

async function ask(method, path, body) {
  const options = { method, headers: headers(), cache: "no-store" };
  if (body !== undefined) {
    options.headers = headers({ "Content-Type": "application/json" });
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refusal(0, { message: "the kiosk does not answer", next: "is it running?" });
  }
  const answer = await response.json();
  if (!response.ok && answer.error) throw new Refusal(response.status, answer.error);
  return answer;
}

async function attempt(work) {
  put("message", "");
  try {
    await work();
  } catch (refusal) {
    tell(refusal);
  }
}

function tell(refusal) {
  if (refusal.status === 401) {
    if (token) put("login-why", "That token is wrong. Try another.");
    token = "";
    at("login").hidden = false;
    at("token").focus();
  } else {
    put("message", refusal.message);
  }
}

/* -- numbers ---------------------------------------------------------------------------------------------- */

const milliseconds = (s) => (s === null || s === undefined ? "–" : `${Math.round(1000 * s)} ms`);
const seconds = (s) => (s === null || s === undefined ? "–" : `${s.toFixed(2)} s`);

function showReport(report) {
  put("n-ttfa", milliseconds(report.ttfa_s));
  put("n-slowest", report.slowest_part ?? "–");
  put("n-rtf", report.rtf === null ? "–" : report.rtf.toFixed(2));
  put("n-buffer", seconds(report.buffered_s));
  put("n-underruns", String(report.underruns));
  put("n-bytes", `${(report.wire_bytes / 1000).toFixed(1)} kB`);
}

function showStatus(status) {
  const state = status.healthy ? "good" : "bad";
  at("health").dataset.state = state;
  put("health", status.healthy ? "Ready to be heard" : "Cannot be heard now");
  const report = status.now?.report ?? status.last;
  if (report) showReport(report);
  const link = status.link;
  put("k-server", link.detail ? `${link.state}: ${link.detail}` : link.state);
  put("k-decoder", status.decoder.detail);
  const sound = status.output;
  put("k-sound", sound.name ? (sound.audible ? sound.name : `${sound.name} (nobody hears it)`) : "none");
  const speaking = status.speaking;
  put("sentence", speaking ? speaking.sentence || speaking.text : "Nothing is spoken.");
  isPaused = status.paused;
  at("pause").setAttribute("aria-pressed", String(isPaused));
  put("pause", isPaused ? "Resume" : "Pause");
  const waiting = status.queue.map((each) => `${each.text.slice(0, 120)} (${each.source || "?"})`);
  showList("queue", waiting.slice(0, 10));
  return speaking !== null || waiting.length > 0;
}

function showList(id, texts) {
  const items = texts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  });
  at(id).replaceChildren(...items);
}

async function look() {
  clearTimeout(looking);
  let wait = LOOK_MS.idle;
  try {
    if (showStatus(await ask("GET", "/status"))) wait = LOOK_MS.speaking;
  } catch (refusal) {
    at("health").dataset.state = "bad";
    put("health", refusal.status === 401 ? "This kiosk needs a token" : refusal.message);
    if (refusal.status === 401) {
      if (at("login").hidden) tell(refusal);
      return;
    }
  }
  looking = setTimeout(look, wait);
}

/* -- events ----------------------------------------------------------------------------------------------- */

const shown = [];

function showEvent(name, body) {
  const heard = body.played_ms === undefined ? "" : ` after ${(body.played_ms / 1000).toFixed(1)} s`;
  const what = body.text ?? body.why ?? body.reason ?? "";
  shown.unshift(`${name}${heard}${what ? `: ${what.slice(0, 120)}` : ""}`);
  shown.length = Math.min(shown.length, EVENTS_SHOWN);
  showList("events", shown);
  if (name === "sentence") put("sentence", body.text);
  if (name === "finished") showReport(body.report);
  look();
}

function takeBlock(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const cut = line.indexOf(":");
    const field = line.slice(0, cut);
    const value = line.slice(cut + 1).replace(/^ /, "");
    if (field === "id") lastEventId = value;
    else if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }
  if (data.length) showEvent(name, JSON.parse(data.join("\n")));
}

/* Not an EventSource: that could not send the token. */
async function follow() {
  following?.abort();
  const mine = (following = new AbortController());
  while (!mine.signal.aborted) {
    try {
      const more = lastEventId ? { "Last-Event-ID": lastEventId } : {};
      const response = await fetch("/events", { headers: headers(more), signal: mine.signal, cache: "no-store" });
      if (response.status === 401) return;
      if (response.ok) await read(response.body);
    } catch {
      /* The kiosk is away, or this reader was replaced: the loop knows which. */
    }
    await new Promise((resolve) => setTimeout(resolve, COME_BACK_MS));
  }
}

async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    blocks.forEach(takeBlock);
  }
}

/* -- voices ----------------------------------------------------------------------------------------------- */

async function listVoices() {
  const known = await ask("GET", "/voices");
  const options = [...known.voices, ...known.uploaded].map((name) => new Option(name, name));
  const configured = known.configured ? `As configured (${known.configured})` : "As configured";
  at("voice").replaceChildren(new Option(configured, ""), ...options);
}

/* -- what a person does ----------------------------------------------------------------------------------- */

function speak() {
  const text = at("text").value;
  const voice = at("voice").value;
  return attempt(async () => {
    await ask("POST", "/speak", voice ? { text, voice } : { text });
    await look();
  });
}

const stop = () => attempt(async () => { await ask("POST", "/stop"); await look(); });
const pause = () => attempt(async () => { await ask("POST", isPaused ? "/resume" : "/pause"); await look(); });

function begin() {
  look();
  follow();
  listVoices().catch(() => { /* Speaking with the configured voice needs no list. */ });
}

at("speak").addEventListener("submit", (event) => { event.preventDefault(); speak(); });
at("stop").addEventListener("click", stop);
at("pause").addEventListener("click", pause);
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); at("speak").requestSubmit(); }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") stop(); });
at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value;
  at("token").value = "";
  at("login").hidden = true;
  begin();
});

begin();
