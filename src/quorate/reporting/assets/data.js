// The data of the page: one JSON object, in which long lists are deflated.
const data = JSON.parse(document.getElementById("data").textContent);

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Reads integers from 0 on, written by `packed` in little-endian order. */
async function integers(entry) {
  const view = new DataView(await inflated(entry.deflated));
  const read = { 1: "getUint8", 2: "getUint16", 4: "getUint32" }[entry.bytes];
  const values = new Array(view.byteLength / entry.bytes);
  for (let i = 0; i < values.length; i += 1) values[i] = view[read](i * entry.bytes, true);
  return values;
}

/** Reads numbers from 0 to 1, written by `packed_shares`; null means that there is no number. */
async function shares(entry) {
  return (await integers(entry)).map((level) => (level === 255 ? null : level / 250));
}

/** Reads ids, written by `packed_ids`: texts, or integers by the steps between them. */
async function identifiers(entry) {
  if (entry.texts) return JSON.parse(new TextDecoder().decode(await inflated(entry.texts)));
  let sum = 0;
  return (await integers(entry)).map((zigzag) => {
    sum += zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
    return String(sum);
  });
}

const byId = (id) => document.getElementById(id);
const counted = (number) => number.toLocaleString("en-US");
const fixed = (number, digits = 2) => (number === null || number === undefined ? "–" : number.toFixed(digits));
const plural = (number, noun) => `${counted(number)} ${noun}${number === 1 ? "" : "s"}`;
const clusterName = (cluster) =>
  /^\d+$/.test(data.names[cluster]) ? `cluster ${data.names[cluster]}` : data.names[cluster];
const shortened = (text, length = 18) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** Makes an element with a text; texts never become markup. */
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
