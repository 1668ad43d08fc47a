// Text and drawings as elements. Nothing here interprets text as HTML.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/gu;

/** Text with control characters, lone surrogates and marks that change the direction of writing as escapes. */
const visible = (text) => String(text).replace(HIDDEN, (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, '0')}`);

/** An element with attributes (`onclick` and other functions become listeners) and children; text becomes text nodes. */
function el(name, attributes = {}, ...children) {
  const svg = ['svg', 'rect', 'line', 'text', 'circle'].includes(name);
  const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(made.style, value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === '') continue;
    made.append(child instanceof Node ? child : visible(child));
  }
  return made;
}

const number = (value, digits = 3) => (value === null || value === undefined ? '-' : Number(value).toFixed(digits));
const share = (value) => `${(100 * value).toFixed(1)} %`;
const counted = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
const MARKS = { pass: '✓', fail: '✗', policy_error: '!', no_verdict: '?' };
const outcomeText = (outcome) => `${MARKS[outcome] || ''} ${outcome.replace('_', ' ')}`;
const outcomeMark = (outcome) => el('span', { class: `outcome ${outcome}` }, outcomeText(outcome));
const block = (text, label) => el('pre', { class: 'text', tabindex: 0, role: 'group', 'aria-label': label }, text);
const facts = (pairs) => el('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== null && value !== '')
  .map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]).flat());
const folded = (title, open, ...children) => el('details', { open }, el('summary', {}, title), ...children);

/** A table; columns whose name begins with `#` hold figures. */
function table(columns, rows, caption) {
  const figure = columns.map((name) => (name.startsWith('#') ? 'figure' : null));
  const cell = (tag, value, place) => el(tag, { class: figure[place], scope: tag === 'th' ? 'col' : null }, value);
  return el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
    el('table', {}, el('thead', {}, el('tr', {}, columns.map((name, place) => cell('th', name.replace('#', ''), place)))),
      el('tbody', {}, rows.map((row) => el('tr', {}, row.map((value, place) => cell('td', value, place)))))));
}

const COLOURS = ['--a', '--b', '--c', '--d', '--e', '--f'];
const colour = (place) => `var(${COLOURS[place % COLOURS.length]})`;

/** Parts of a whole as one bar, with a list of its parts: [name, value, text, colour]. */
function stack(label, parts) {
  const total = parts.reduce((sum, [, value]) => sum + Math.abs(value), 0) || 1;
  const width = (value) => ({ width: `${(100 * Math.abs(value)) / total}%` });
  return el('div', {},
    el('div', { class: 'stack', role: 'img', 'aria-label': `${label}: ${parts.map(([name, , text]) => `${name} ${text}`).join(', ')}` },
      parts.map(([, value, , paint]) => el('div', { style: { ...width(value), background: paint } }))),
    el('ul', { class: 'legend' }, parts.map(([name, , text, paint]) =>
      el('li', {}, el('span', { class: 'dot', style: { background: paint } }), `${name} ${text}`))));
}

const KEYWORDS = {
  python: 'False None True and as assert async await break class continue def del elif else except finally for from ' +
    'global if import in is lambda match nonlocal not or pass raise return try while with yield',
  javascript: 'async await break case catch class const continue default delete do else export extends false finally ' +
    'for function if import in instanceof let new null of return switch this throw true try typeof undefined var ' +
    'void while yield',
  bash: 'case do done elif else esac fi for function if in local return then until while',
};
const MOST_COLOURED = 100000;

/** A program with line numbers and colours. */
function program(code, language, label = 'program') {
  const text = el('code');
  const words = new Set((KEYWORDS[language] || '').split(' '));
  const comment = language === 'javascript' ? '\\/\\/.*|\\/\\*' : '#.*';
  const token = new RegExp(`(${comment})|("""|'''|\`|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?)|(\\d[\\w.]*)|([A-Za-z_]\\w*)`, 'g');
  const short = code.length <= MOST_COLOURED;
  let done = 0;
  for (let match; short && (match = token.exec(code)) !== null;) {
    const closing = { '"""': '"""', "'''": "'''", '`': '`', '/*': '*/' }[match[0]];
    let end = token.lastIndex;
    if (closing) {
      const place = code.indexOf(closing, end);
      end = token.lastIndex = place < 0 ? code.length : place + closing.length;
    }
    const kind = match[1] ? 'comment' : match[2] ? 'string' : match[3] ? 'number' : words.has(match[0]) ? 'keyword' : null;
    if (kind === null) continue;
    text.append(visible(code.slice(done, match.index)), el('span', { class: kind }, code.slice(match.index, end)));
    done = end;
  }
  text.append(visible(code.slice(done)));
  const lines = code.split('\n').length;
  const numbers = Array.from({ length: lines }, (_, place) => place + 1).join('\n');
  return el('div', { class: 'code', tabindex: 0, role: 'group', 'aria-label': label },
    el('pre', { class: 'numbers', 'aria-hidden': 'true' }, numbers), el('pre', {}, text));
}

/** Pairs of lines of two texts: equal lines beside each other; undefined where one side has no line. */
function pairsOfLines(left, right) {
  const a = left.split('\n'), b = right.split('\n');
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const pairs = a.slice(0, head).map((line) => [line, line]);
  const width = y.length + 1;
  if (x.length * y.length <= 250000) {
    const common = new Uint32Array((x.length + 1) * width); // Lengths of longest common subsequences of the rests.
    for (let i = x.length - 1; i >= 0; i--)
      for (let j = y.length - 1; j >= 0; j--)
        common[i * width + j] = x[i] === y[j] ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    let i = 0, j = 0, from = [0, 0];
    const changed = () => { for (; from[0] < i || from[1] < j; from[0]++, from[1]++) pairs.push([from[0] < i ? x[from[0]] : undefined, from[1] < j ? y[from[1]] : undefined]); };
    while (i < x.length && j < y.length) {
      if (x[i] === y[j]) { changed(); pairs.push([x[i], y[j]]); i++; j++; from = [i, j]; }
      else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) i++;
      else j++;
    }
    i = x.length; j = y.length;
    changed();
  } else for (let i = 0; i < Math.max(x.length, y.length); i++) pairs.push([x[i], y[i]]);
  return pairs.concat(a.slice(a.length - tail).map((line) => [line, line]));
}

const MOST_LINES = 400;

/** Two texts side by side, with marks where they differ. */
function diff(left, right, names) {
  const pairs = pairsOfLines(left, right);
  const row = ([one, other]) => {
    if (one === other) return el('tr', {}, el('td', {}, one), el('td', {}, other));
    const [a, b] = [one ?? '', other ?? ''];
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    const cell = (text, line, kind) => (line === undefined ? el('td') : el('td', { class: kind }, text.slice(0, head),
      text.length > head + tail ? el('mark', {}, text.slice(head, text.length - tail)) : '', text.slice(text.length - tail)));
    return el('tr', {}, cell(a, one, 'del'), cell(b, other, 'ins'));
  };
  const left_out = pairs.length - MOST_LINES;
  return el('div', {}, el('table', { class: 'diff' },
    el('thead', {}, el('tr', {}, names.map((name) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, pairs.slice(0, MOST_LINES).map(row))), left_out > 0 ? el('p', {}, `${counted(left_out, 'line')} more`) : '');
}
