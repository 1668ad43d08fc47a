// The overview of each run, and the comparison of two runs.

const OUTCOMES = ['pass', 'fail', 'policy_error', 'no_verdict'];
const STAGES_OF_TIME = [['queue_s', 'waiting for a worker'], ['start_s', 'starting'], ['run_s', 'running'], ['judge_s', 'making verdicts']];

/** A status beside outcomes, where `ok` alone would read as a right answer. */
const howEnded = (status) => (status === 'ok' ? 'ok (ended by itself)' : status);

/** A button that shows the entries with these values in the list. */
const filterButton = (text, values) => el('button', { type: 'button', class: 'link', onclick: () => setFilters(values) }, text);

function overview() {
  return [el('h2', {}, 'Overview'), store.runs.map((run, place) => runOverview(run, place))].flat();
}

function runOverview(run, place) {
  const missing = run.outcomes.no_verdict || 0;
  const tasks = run.tasks.filter(([, judged]) => judged > 0);
  const programs = Object.values(run.statuses).reduce((sum, count) => sum + count, 0);
  const kind = run.rewards ? 'episode' : 'sample';
  return el('section', { 'aria-label': run.name },
    el('h3', {}, `${runName(place)}: ${run.name}`),
    facts([
      ['answers', counted(run.items, kind)],
      ['tasks', counted(run.tasks.length, 'task')],
      ['solved tasks', `${run.tasks.filter(([, , passed]) => passed > 0).length} of ${run.tasks.length}`],
      ['programs without code', `${run.without_code} of ${programs}`],
      ['mean reward', run.rewards ? number(run.rewards.mean) : null],
      ['judged', Object.entries(run.judges).map(([name, count]) => `${count} ${name}`).join(', ')],
      ['by', Object.keys(run.abouts).join('; ')],
      ['model', Object.keys(run.models).join(', ')],
    ]),
    el('h4', {}, `Outcomes of ${kind}s`),
    stack('outcomes', OUTCOMES.filter((name) => run.outcomes[name]).map((name) =>
      [outcomeText(name), run.outcomes[name], `${run.outcomes[name]} (${share(run.outcomes[name] / run.items)})`, `var(--${name})`])),
    run.pass_at_k.length ? [el('h4', {}, 'pass@k'), passAtK(run)] : '',
    run.rewards ? [el('h4', {}, 'Reward over the run, by term'), rewardCurve(run.rewards)] : '',
    el('h4', {}, 'How programs ended'),
    table(['status', '#programs'], Object.entries(run.statuses).map(([name, count]) =>
      [filterButton(howEnded(name), { run: place, status: name }), count.toLocaleString('en')]), 'how programs ended'),
    el('h4', {}, 'Time, added up over all programs'),
    stack('time', STAGES_OF_TIME.map(([key, name], at) => [name, run.timing[key], `${number(run.timing[key], 1)} s`, colour(at)])),
    run.failures.length ? [el('h4', {}, 'Why answers failed'), table([`#${kind}s`, 'why'], run.failures.map(([message, count]) =>
      [count.toLocaleString('en'), filterButton(message, { run: place, message })]), 'why answers failed')] : '',
    missing ? [el('h4', {}, 'Why there is no verdict'), table(['cause', '#programs'], run.causes, 'why there is no verdict')] : '',
    el('h4', {}, 'Tasks, the most difficult first'),
    taskTable(tasks, place));
}

function passAtK(run) {
  const bar = (one) => el('svg', { viewBox: '0 0 200 14', width: 200, height: 14, 'aria-hidden': 'true' },
    el('line', { x1: 0, x2: 200, y1: 7, y2: 7, stroke: 'var(--line)' }),
    one.low === null ? '' : el('line', { x1: 200 * one.low, x2: 200 * one.high, y1: 7, y2: 7, stroke: 'var(--a)', 'stroke-width': 4 }),
    el('circle', { cx: 200 * one.value, cy: 7, r: 5, fill: 'var(--a)' }));
  const rows = run.pass_at_k.map((one) => [one.k, number(one.value, 4), one.low === null ? '-' : `${number(one.low, 4)} to ${number(one.high, 4)}`, bar(one),
    one.tasks, one.missing ? `${one.missing} left out; with them ${number(one.worst, 4)} to ${number(one.best, 4)}` : 'none']);
  return table(['#k', '#pass@k', '95 % interval over tasks', 'from 0 to 1', '#tasks', 'samples without a verdict'], rows, 'pass@k');
}

function rewardCurve(rewards) {
  const height = 140, width = 600;
  const sums = rewards.stretches.map(({ means }) => [means.filter((v) => v > 0).reduce((a, b) => a + b, 0), means.filter((v) => v < 0).reduce((a, b) => a + b, 0)]);
  const top = Math.max(1e-9, ...sums.map(([up]) => up)), bottom = Math.min(0, ...sums.map(([, down]) => down));
  const y = (value) => 8 + (height * (top - value)) / (top - bottom);
  const step = width / rewards.stretches.length;
  const bars = rewards.stretches.map(({ means }, at) => {
    let up = 0, down = 0;
    return means.map((mean, term) => {
      const from = mean >= 0 ? up : down;
      if (mean >= 0) up += mean; else down += mean;
      return el('rect', { x: 40 + at * step, width: Math.max(step - 1, 0.5), y: Math.min(y(from), y(from + mean)),
        height: Math.abs(y(from) - y(from + mean)), fill: colour(term) });
    });
  }).flat();
  const [first, last] = [rewards.stretches[0], rewards.stretches[rewards.stretches.length - 1]];
  const total = (one) => one.means.reduce((a, b) => a + b, 0);
  const label = `mean reward by term; ${number(total(first))} in the first stretch, ${number(total(last))} in the last`;
  return el('div', {},
    el('svg', { viewBox: `0 0 ${width + 50} ${height + 30}`, width: '100%', style: { maxWidth: '48rem' }, role: 'img', 'aria-label': label },
      bars, el('text', { x: 0, y: y(top) + 8 }, number(top, 2)), el('text', { x: 0, y: y(bottom) }, number(bottom, 2)),
      el('text', { x: 40, y: height + 26 }, `episode ${first.first}`),
      el('text', { x: width + 40, y: height + 26, 'text-anchor': 'end' }, `episode ${last.last}`)),
    el('ul', { class: 'legend' }, rewards.terms.map((name, term) =>
      el('li', {}, el('span', { class: 'dot', style: { background: colour(term) } }), name))),
    folded('as figures', false, table(['episodes', ...rewards.terms.map((name) => `#${name}`)], rewards.stretches.map((one) =>
      [one.first === one.last ? one.first : `${one.first} to ${one.last}`, ...one.means.map((mean) => number(mean))]), 'reward over the run')));
}

function taskTable(tasks, place) {
  const sorted = tasks.slice().sort((a, b) => a[2] / a[1] - b[2] / b[1] || b[1] - a[1]);
  const body = el('div');
  const show = (most) => {
    const rows = sorted.slice(0, most).map(([task, judged, passed]) => [filterButton(task, { run: place, task }),
      `${passed} of ${judged}`, el('div', { class: 'bar', 'aria-hidden': 'true' }, el('div', { style: { width: `${(100 * passed) / judged}%` } }))]);
    const more = sorted.length > most ? el('button', { type: 'button', onclick: () => show(most * 4) }, `show more of ${sorted.length} tasks`) : '';
    body.replaceChildren(table(['task', '#passed', 'share'], rows, 'tasks'), more);
  };
  show(25);
  return body;
}

const runName = (place) => (store.runs.length > 1 ? `Run ${String.fromCharCode(65 + place)}` : 'Run');

function comparison() {
  const choose = (name, at) => el('label', {}, `${name} `, el('select', { onchange: (event) => {
    const chosen = { before: state.pairs.before, after: state.pairs.after };
    chosen[name] = Number(event.target.value);
    state.pairs = compareRuns(chosen.before, chosen.after);
    applyFilters();
    show();
  } }, store.runs.map((run, place) => el('option', { value: place, selected: place === at }, `${runName(place)}: ${run.name}`))));
  const counts = new Map(CHANGES.map((name) => [name, 0]));
  for (const [index, change] of state.pairs.changes) {
    const single = !state.pairs.partners.has(index);
    if (single || store.entries[index].run === state.pairs.after) counts.set(change, counts.get(change) + 1);
  }
  return [el('h2', {}, 'Compare two runs'),
    el('p', {}, choose('before', state.pairs.before), ' ', choose('after', state.pairs.after)),
    el('p', {}, 'Samples that answer the same task are compared with each other, in the order in which they come.'),
    table(['what happened', '#samples'], [...counts].map(([name, count]) =>
      [filterButton(name, { change: name, run: name === CHANGES[5] ? '' : state.pairs.after }), count.toLocaleString('en')]), 'what happened')];
}
