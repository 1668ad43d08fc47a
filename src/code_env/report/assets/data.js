'use strict';
// The data of the page. All text in it comes from models and programs, so it is shown as text nodes only (text.js).

const store = { runs: [], entries: [], columns: [], blocks: 0, blockItems: 1, later: [] };
const unpacked = new Map(); // The blocks that were looked at last.
const MOST_UNPACKED = 20;

/** The compressed JSON in an element. */
async function unpack(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

async function loadStore() {
  const index = await unpack('index');
  store.columns = index.columns;
  store.blocks = index.blocks;
  store.blockItems = index.block_items;
  store.embedded = index.entries.length;
  store.follow = index.follow;
  addNews(index.figures, index.entries);
}

/** Take figures, and entries that came after those which are there. */
function addNews(figures, entries, items = []) {
  store.runs = figures;
  for (const row of entries) {
    const entry = { index: store.entries.length };
    store.columns.forEach((name, place) => { entry[name] = row[place]; });
    store.entries.push(entry);
  }
  for (const item of items) store.later.push(item);
}

/** The items of a block; the blocks that were looked at last are kept. */
async function blockOf(number) {
  if (!unpacked.has(number)) {
    if (unpacked.size >= MOST_UNPACKED) unpacked.delete(unpacked.keys().next().value);
    unpacked.set(number, unpack(`block-${number}`));
  }
  return unpacked.get(number);
}

/** The whole item of an entry. */
async function itemAt(index) {
  if (index >= store.embedded) return store.later[index - store.embedded];
  const block = await blockOf(Math.floor(index / store.blockItems));
  return block[index % store.blockItems];
}

/** All text of an item in which one can search. */
function textOf(item) {
  const texts = [item.task];
  for (const turn of item.turns) {
    texts.push(turn.prompt);
    for (const program of turn.programs) {
      texts.push(program.answer, program.code, program.message, program.stdout, program.stderr);
      for (const one of program.failed_cases) texts.push(one.example, one.message, one.expected, one.actual, one.stderr);
    }
  }
  return texts.join('\n').toLowerCase();
}

/** Search in whole items, block by block; `found` gets each hit, `progress` the share that is done. */
async function searchDeeply(words, isCurrent, found, progress) {
  for (let number = 0; number < store.blocks; number++) {
    const items = await unpack(`block-${number}`);
    if (!isCurrent()) return;
    items.forEach((item, place) => {
      if (textOf(item).includes(words)) found(number * store.blockItems + place);
    });
    progress((number + 1) / store.blocks);
  }
  store.later.forEach((item, place) => {
    if (textOf(item).includes(words)) found(store.embedded + place);
  });
}

const CHANGES = ['mended', 'broke', 'passes in both', 'passes in neither', 'without a verdict', 'in one run only'];

/** For each entry of two runs, its partner in the other (same task, same place among its samples), and what changed. */
function compareRuns(before, after) {
  const partners = new Map();
  const changes = new Map();
  const waiting = new Map();
  const places = new Map();
  for (const entry of store.entries) {
    if (entry.run !== before && entry.run !== after) continue;
    const task = JSON.stringify([entry.run, entry.task]);
    const place = places.get(task) || 0;
    places.set(task, place + 1);
    const key = JSON.stringify([entry.task, place]);
    const other = waiting.get(key);
    if (other === undefined) {
      waiting.set(key, entry);
      changes.set(entry.index, CHANGES[5]);
      continue;
    }
    partners.set(entry.index, other.index).set(other.index, entry.index);
    const [first, second] = other.run === before ? [other, entry] : [entry, other];
    const passed = [first.outcome === 'pass', second.outcome === 'pass'];
    let change = passed[0] ? (passed[1] ? CHANGES[2] : CHANGES[1]) : passed[1] ? CHANGES[0] : CHANGES[3];
    if (first.outcome === 'no_verdict' || second.outcome === 'no_verdict') change = CHANGES[4];
    changes.set(entry.index, change).set(other.index, change);
  }
  return { before, after, partners, changes };
}
