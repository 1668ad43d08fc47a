// The list with its filters, and what the address of the page shows beside it.

const byId = (id) => document.getElementById(id);
const state = { shown: [], selected: -1, filters: {}, hits: null, pairs: null, only: {} };
const ROW_HEIGHT = 46;
const ORDERS = {
  'as in the file': null,
  task: (a, b) => (a.task < b.task ? -1 : a.task > b.task ? 1 : a.index - b.index),
  'lowest reward': (a, b) => (a.reward ?? a.passed / (a.total || 1)) - (b.reward ?? b.passed / (b.total || 1)) || a.index - b.index,
  'slowest first': (a, b) => b.seconds - a.seconds || a.index - b.index,
};

const FILTERS = ['run', 'outcome', 'status', 'change', 'order'];
const ONLY = ['task', 'message']; // What only buttons of the overview filter by.

function fillFilters() {
  const options = {
    run: [['', 'all'], ...store.runs.map((run, place) => [place, `${runName(place)}: ${run.name}`])],
    outcome: [['', 'all'], ...OUTCOMES.map((name) => [name, outcomeText(name)]), ['without code', 'without code']],
    status: [['', 'all'], ...[...new Set(store.runs.flatMap((run) => Object.keys(run.statuses)))].sort().map((name) => [name, name])],
    change: [['', 'all'], ...CHANGES.map((name) => [name, name])],
    order: Object.keys(ORDERS).map((name) => [name, name]),
  };
  for (const name of FILTERS) {
    const select = byId(name), value = select.value;
    select.replaceChildren(...options[name].map(([key, text]) => el('option', { value: key }, text)));
    if ([...select.options].some((option) => option.value === value)) select.value = value;
  }
  byId('run').parentElement.hidden = byId('change').parentElement.hidden = store.runs.length < 2;
  byId('compare-link').hidden = store.runs.length < 2;
}

/** Show the entries with these values in the list, and nothing of other filters. */
function setFilters(values) {
  byId('filters').reset();
  state.only = {};
  for (const [name, value] of Object.entries(values)) {
    if (ONLY.includes(name)) state.only[name] = value;
    else byId(name).value = value;
  }
  state.hits = null;
  applyFilters();
  document.body.classList.remove('opened');
  byId('list').focus();
}

function applyFilters() {
  const [run, outcome, status, change, order] = FILTERS.map((name) => byId(name).value);
  const words = byId('search').value.toLowerCase();
  const seen = new Set();
  const shown = store.entries.filter((entry) => {
    if (run !== '' && entry.run !== Number(run)) return false;
    if (outcome !== '' && (outcome === 'without code' ? entry.stage !== 'nothing' : entry.outcome !== outcome)) return false;
    if (status !== '' && entry.status !== status) return false;
    if (change !== '' && state.pairs.changes.get(entry.index) !== change) return false;
    if (ONLY.some((name) => name in state.only && entry[name] !== state.only[name])) return false;
    if (words && !(state.hits ? state.hits.has(entry.index) : `${entry.task}\n${entry.message}`.toLowerCase().includes(words))) return false;
    if (!byId('fold').checked) return true;
    const key = JSON.stringify([entry.run, entry.task, entry.code]);
    return !seen.has(key) && seen.add(key);
  });
  if (ORDERS[order]) shown.sort(ORDERS[order]);
  state.shown = shown;
  byId('count').textContent = `${shown.length.toLocaleString('en')} of ${counted(store.entries.length, 'sample')}${state.progress || ''}`;
  const only = Object.entries(state.only).map(([name, value]) => `only ${name} ${value}`).join(', ');
  byId('only').hidden = only === '';
  byId('only').replaceChildren(el('span', {}, `${only} `), el('button', { type: 'button', onclick: () => setFilters({}) }, 'show all'));
  drawList();
}

let search = 0; // The number of the last search.

function searchAnew() {
  const mine = ++search;
  const words = byId('search').value.toLowerCase();
  state.hits = words && byId('deep').checked ? new Set() : null;
  state.progress = '';
  applyFilters();
  if (!state.hits) return;
  let drawn = 0;
  searchDeeply(words, () => mine === search, (index) => state.hits.add(index), (done) => {
    state.progress = done < 1 ? `, ${Math.round(100 * done)} % searched` : '';
    if (done < 1 && Date.now() - drawn < 300) return;
    drawn = Date.now();
    applyFilters();
  });
}

/** Draw the rows that can be seen, and no others. */
function drawList() {
  const list = byId('list');
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 5);
  const last = Math.min(state.shown.length, first + Math.ceil(list.clientHeight / ROW_HEIGHT) + 10);
  const rows = [];
  for (let place = first; place < last; place++) {
    const entry = state.shown[place];
    const figures = [runName(entry.run), `number ${entry.number}`, `${entry.passed}/${entry.total}`,
      entry.reward === null ? '' : `reward ${number(entry.reward)}`, entry.turns > 1 ? `${entry.turns} turns` : ''];
    rows.push(el('div', { class: 'row', role: 'option', id: `row-${place}`, 'aria-selected': String(entry.index === state.selected),
      'aria-setsize': state.shown.length, 'aria-posinset': place + 1, style: { top: `${place * ROW_HEIGHT}px` },
      onclick: () => openItem(entry.index) },
      el('div', {}, outcomeMark(entry.outcome), ` ${entry.task}`),
      el('div', { class: 'more' }, figures.filter(Boolean).join(' · '), entry.message ? ` · ${entry.message}` : '')));
  }
  const end = el('div', { role: 'presentation', style: { position: 'absolute', top: `${state.shown.length * ROW_HEIGHT}px`, height: '1px', width: '1px' } });
  list.replaceChildren(...rows, end);
  const place = state.shown.findIndex((entry) => entry.index === state.selected);
  if (place >= first && place < last) list.setAttribute('aria-activedescendant', `row-${place}`);
  else list.removeAttribute('aria-activedescendant');
}

/** Select the entry at a place of the list, and scroll to it. */
function select(place) {
  if (!state.shown.length) return;
  const list = byId('list');
  place = Math.max(0, Math.min(state.shown.length - 1, place));
  state.selected = state.shown[place].index;
  const top = place * ROW_HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
  drawList();
}

const selectedPlace = () => state.shown.findIndex((entry) => entry.index === state.selected);
const openItem = (index) => { location.hash = `#item-${index}`; };
const closeItem = () => { document.body.classList.remove('opened'); byId('list').focus(); };

function step(distance) {
  select(selectedPlace() + distance);
  if (state.selected >= 0) openItem(state.selected);
}

let view = 0; // The number of the view that was asked for last.

/** Show what the address of the page names. */
async function show() {
  const mine = ++view;
  const name = location.hash.slice(1);
  const match = /^item-(\d+)$/.exec(name);
  const index = match ? Number(match[1]) : -1;
  const exists = index >= 0 && index < store.entries.length;
  let parts;
  if (exists) {
    state.selected = index;
    const place = selectedPlace();
    if (place >= 0) select(place); else drawList();
    parts = await itemView(index);
  } else parts = name === 'compare' && state.pairs ? comparison() : overview();
  if (mine !== view) return;
  byId('detail').replaceChildren(...parts.filter(Boolean));
  byId('detail').scrollTop = 0;
  document.body.classList.toggle('opened', exists || name === 'compare');
}

/** What the browser remembers for this page; from a disk it may refuse to. */
const remembered = {
  get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* Then it is forgotten. */ } },
};

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  remembered.set('theme', theme);
}

const KEYS = {
  '/': () => byId('search').focus(),
  j: () => step(1),
  k: () => step(-1),
  o: () => { location.hash = '#overview'; },
  '?': () => byId('keys').showModal(),
};

function onKey(event) {
  const typing = event.target.matches('input[type=search], select') || byId('keys').open;
  if (typing || event.ctrlKey || event.altKey || event.metaKey || !byId('keys-on').checked || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
}

function onListKey(event) {
  const page = Math.max(1, Math.floor(byId('list').clientHeight / ROW_HEIGHT) - 1);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (event.key === 'Enter' && state.selected >= 0) openItem(state.selected);
  else if (event.key in moves) select(selectedPlace() + moves[event.key]);
  else return;
  event.preventDefault();
}

/** Ask the server for what came since, every other second. */
async function follow() {
  try {
    const answer = await fetch(`news?after=${store.entries.length}`);
    const news = await answer.json();
    if (!answer.ok) throw new Error(news.error);
    if (news.reload) return location.reload();
    if (news.entries.length) {
      addNews(news.figures, news.entries, news.items);
      refresh();
      if (!location.hash.startsWith('#item-')) show();
    }
  } catch (error) {
    byId('count').textContent = `nothing new: ${error.message}`;
  }
  setTimeout(follow, 2000);
}

function refresh() {
  if (store.runs.length > 1) state.pairs = compareRuns(state.pairs ? state.pairs.before : 0, state.pairs ? state.pairs.after : 1);
  fillFilters();
  applyFilters();
}

async function begin() {
  setTheme(remembered.get('theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  await loadStore();
  refresh();
  byId('filters').addEventListener('input', (event) => (event.target.type === 'search' || event.target.id === 'deep' ? searchAnew() : applyFilters()));
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('filters').addEventListener('reset', (event) => { event.preventDefault(); byId('filters').querySelectorAll('input, select').forEach((field) => {
    if (field.type === 'checkbox') field.checked = false; else if (field.type === 'search') field.value = ''; else field.selectedIndex = 0;
  }); state.only = {}; state.hits = null; search++; state.progress = ''; applyFilters(); });
  byId('list').addEventListener('scroll', () => requestAnimationFrame(drawList));
  byId('list').addEventListener('keydown', onListKey);
  byId('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  byId('keys-button').addEventListener('click', () => byId('keys').showModal());
  document.addEventListener('keydown', onKey);
  addEventListener('hashchange', show);
  addEventListener('resize', drawList);
  await show();
  document.documentElement.dataset.ready = 'yes';
  if (store.follow) setTimeout(follow, 2000);
}

begin().catch((error) => { byId('detail').replaceChildren(el('p', { role: 'alert' }, `The page cannot show its data: ${error.message}`)); });
