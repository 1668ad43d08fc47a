// One sample or episode, with the other answers to its task, and its partner in the other run.

const bytes = (count) => (count ? `${(count / 1048576).toFixed(1)} MiB` : null);
const link = (index, text) => el('a', { href: `#item-${index}` }, text);

function itemHead(entry, item) {
  const about = item.about;
  return [
    el('div', { class: 'steps' },
      el('button', { type: 'button', class: 'back', onclick: closeItem }, 'list'),
      el('button', { type: 'button', onclick: () => step(-1) }, 'previous'),
      el('button', { type: 'button', onclick: () => step(1) }, 'next')),
    el('h2', {}, entry.task),
    el('p', {}, outcomeMark(entry.outcome), ` · ${entry.passed} of ${counted(entry.total, 'case')} passed · ${runName(entry.run)}, number ${entry.number}`),
    facts([
      ['reward', item.reward === null ? null : number(item.reward)],
      ['seed', item.seed],
      ['model', about.model || null],
      ['judged by', `${about.executor}, level ${about.level}, code_env ${about.version}`],
      ['limits', about.limits ? `${about.limits.cpu_s} s of CPU time of each test, ${bytes(about.limits.memory_bytes)}` : null],
    ])];
}

function itemTurn(turn, place, count) {
  return el('section', { 'aria-label': `turn ${place + 1}` },
    el('h3', {}, count > 1 ? `Turn ${place + 1}${turn.cell === null ? '' : ': a cell'}` : 'Answer'),
    folded(place ? 'what the policy was told' : 'prompt', turn.prompt.length < 1000, block(turn.prompt, `prompt of turn ${place + 1}`)),
    turn.cell === null ? '' : block(turn.cell, `cell of turn ${place + 1}`),
    turn.programs.map((one, at) => itemProgram(one, turn.programs.length > 1 ? at : null)),
    Object.keys(turn.terms).length ? [el('h4', {}, `Reward ${number(turn.reward)}`),
      stack('reward', Object.entries(turn.terms).map(([name, value], at) => [name, value, number(value), colour(at)]))] : '');
}

function itemProgram(one, at) {
  const failed = one.tests_total - one.tests_passed;
  const cases = areAlike(one) ? [] : one.failed_cases;
  const more = failed - cases.length;
  return [
    el('h4', {}, at === null ? 'Program' : `Program ${at + 1}`),
    one.finish_reason === 'length' ? el('p', {}, 'The model stopped at its limit of tokens (finish_reason length).') : '',
    one.stage === 'nothing' ? el('p', {}, 'No code was found in this answer.') : program(one.code, one.language),
    one.answer.trim() === one.code.trim() ? '' : folded('the whole answer', one.stage === 'nothing', block(one.answer, 'the whole answer')),
    el('p', {}, outcomeMark(one.outcome), ` · ${one.tests_passed} of ${counted(one.tests_total, 'case')} passed`),
    one.message && !cases.length ? block(one.message, 'why it failed') : '',
    cases.map(itemCase),
    more > 0 && cases.length ? el('p', {}, `${counted(more, 'case')} more did not pass.`) : '',
    one.stdout ? folded('what it wrote to standard output', false, block(one.stdout, 'standard output')) : '',
    one.stderr ? folded('what it wrote to standard error', false, block(one.stderr, 'standard error')) : '',
    facts([['how it ended', howEnded(one.status)], ['judge', one.judge], ['reached', one.stage], ['CPU time', one.cpu_s ? `${number(one.cpu_s)} s` : null],
      ['memory', bytes(one.peak_memory_bytes)]]),
    stack('time', STAGES_OF_TIME.map(([key, name], place) => [name, one.timing[key], `${number(one.timing[key])} s`, colour(place)]))].flat();
}

/** Whether the program was not tested, so that each case says the same, and once is enough. */
const areAlike = (one) => one.stage !== 'tested' && one.failed_cases.every(({ message }) => message === one.message);

const SHORT = 120;

function itemCase(one) {
  const source = one.kind === 'assert';
  const short = one.example.length <= SHORT;
  const isHead = one.kind === 'call' && short;
  return el('div', { class: 'case' },
    el('h4', {}, `test ${one.test}, case ${one.case}: ${one.kind}, ${one.hidden ? 'hidden' : 'public'}, ${one.status}${isHead ? `: ${one.example}` : ''}`),
    one.message ? block(one.message, 'why the case failed') : '',
    one.example && !isHead ? folded('the test', short, block(one.example, 'the test')) : '',
    source ? program(one.expected, 'python', 'source of the case')
      : one.actual ? diff(one.expected, one.actual, ['expected', 'actual'])
      : one.expected ? [el('p', {}, 'Nothing came back. Expected:'), block(one.expected, 'expected')] : '',
    one.stderr ? folded('standard error', false, block(one.stderr, 'standard error of the case')) : '');
}

const MOST_CARDS = 12;

/** The other answers to the task in the same run, side by side; equal programs are one card. */
async function itemGroup(entry) {
  const group = store.entries.filter((other) => other.run === entry.run && other.task === entry.task);
  if (group.length < 2) return '';
  const byCode = new Map();
  for (const one of group) byCode.set(one.code, [...(byCode.get(one.code) || []), one]);
  const kinds = [...byCode.values()].sort((a, b) => b.length - a.length);
  const cards = await Promise.all(kinds.slice(0, MOST_CARDS).map(async (equal) => {
    const item = await itemAt(equal[0].index);
    const last = item.turns[item.turns.length - 1].programs;
    const shown = last.find((one) => one.passed) || last[0];
    const outcomes = new Map();
    for (const one of equal) outcomes.set(one.outcome, (outcomes.get(one.outcome) || 0) + 1);
    return el('div', { class: 'card' },
      el('p', {}, [...outcomes].map(([outcome, count]) => [outcomeMark(outcome), ` × ${count} `]).flat(),
        equal.some((one) => one.index === entry.index) ? ' (this one)' : ''),
      shown.stage === 'nothing' ? el('p', {}, 'No code.') : program(shown.code, shown.language, `program of number ${equal[0].number}`),
      el('p', {}, 'number ', equal.slice(0, 20).map((one, at) => [at ? ', ' : '', link(one.index, one.number)]).flat(), equal.length > 20 ? ' …' : ''));
  }));
  const rest = kinds.length - MOST_CARDS;
  return el('section', { 'aria-label': 'all answers to this task' },
    el('h3', {}, `All ${group.length} answers to this task: ${counted(kinds.length, 'different program')}`),
    el('div', { class: 'group' }, cards), rest > 0 ? el('p', {}, `${counted(rest, 'program')} more`) : '');
}

/** What the other run answered, as a difference of programs. */
async function itemPartner(entry, item) {
  const partner = state.pairs && state.pairs.partners.get(entry.index);
  if (partner === undefined || partner === null) return '';
  const other = await itemAt(partner);
  const [mine, its] = [item, other].map((one) => one.turns[one.turns.length - 1].programs[0].code);
  const isAfter = entry.run === state.pairs.after;
  const [left, right] = isAfter ? [its, mine] : [mine, its];
  return el('section', { 'aria-label': 'the same sample in the other run' },
    el('h3', {}, `${state.pairs.changes.get(entry.index)}: `, link(partner, `the same sample in ${runName(store.entries[partner].run)}`)),
    left === right ? el('p', {}, 'The programs are equal.') : diff(left, right, ['before', 'after']));
}

async function itemView(index) {
  const entry = store.entries[index];
  const item = await itemAt(index);
  const turns = item.turns.map((turn, place) => itemTurn(turn, place, item.turns.length));
  return [...itemHead(entry, item), ...turns, await itemPartner(entry, item), await itemGroup(entry)];
}
