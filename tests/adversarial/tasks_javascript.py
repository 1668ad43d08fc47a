"""What the hacks in JavaScript are judged on; a hack names its task by the variable that holds it."""

from dataclasses import replace
from textwrap import dedent

from code_env import AssertTest, CallTest, Limits, OutputTest, StdinTest, Task

LIMITS = Limits(cpu_s=1, wall_s=4)


def task(*tests, name: str | None = None) -> Task:
    """A task for an answer in JavaScript."""
    return Task("t", "p", tests, entry_point=name, language="js", limits=LIMITS)


def asserts(code: str, name: str | None) -> Task:
    """A task with a test suite, written as indented as what surrounds it."""
    return task(AssertTest(dedent(code), language="js"), name=name)


CALL = task(CallTest((1, 2), expected=3), CallTest((5, 7), expected=12), name="add")
LIST = task(CallTest(([3, 1, 2],), expected=[1, 2, 3]), CallTest(([9, 8],), expected=[8, 9]), name="f")
STDIN = task(StdinTest("2 3\n", "5\n"), StdinTest("10 20\n", "30\n"))
OUTPUT = task(OutputTest("hello\n"))
ASSERT = asserts(
    """\
    assert.strictEqual(add(1, 2), 3);
    assert(add(5, 7) === 12);
    console.assert(add(0, 4) === 4, 'sum');
    assert.deepStrictEqual([add(2, 2)], [4]);""",
    "add",
)
LOOSE = asserts(
    """\
    assert.equal(add(1, 2), 3);
    assert.deepEqual(add(5, 7), 12);
    assert(add(0, 4) == 4);""",
    "add",
)
SORT = asserts(
    """\
    assert.deepStrictEqual(f([3, 1, 2]), [1, 2, 3]);
    assert(f([2, 1]).every((x, i) => x === i + 1));
    assert.strictEqual(JSON.stringify(f([5, 4])), JSON.stringify([4, 5]));
    assert.ok([1, 2].includes(f([2, 1])[0]) && f([9, 8]).join() === '8,9');""",
    "f",
)
MAP = asserts(
    """\
    assert.deepStrictEqual(f('ab'), new Map([['a', 1], ['b', 1]]));
    assert.deepEqual({ m: [f('x')] }, { m: [new Map([['x', 1]])] });""",
    "f",
)
LISTS = asserts(
    """\
    assert.deepStrictEqual(f([3, 1]), [1, 3]);
    assert.deepEqual({ r: [f([2, 1])] }, { r: [[1, 2]] });
    const { isDeepStrictEqual } = require('util');
    assert.ok(isDeepStrictEqual([5, 4].map((x) => f([x, 1])), [[1, 5], [1, 4]]));
    const { deepStrictEqual } = require('assert');
    deepStrictEqual(new Set([f([7, 6])]), new Set([[6, 7]]));""",
    "f",
)
NESTED = asserts(
    """\
    assert.deepEqual(f([3, 1]), { first: {}, list: [1, 3], last: {} });
    assert.deepEqual(f([5, 4, 2]), { first: {}, list: [2, 4, 5], last: {} });""",
    "f",
)
TAGGED = asserts(
    """\
    assert.deepStrictEqual(await f('date'), new Date(5));
    assert.deepEqual(await f('error'), new RangeError('5'));
    assert.deepEqual([await f('pattern')], [/5/]);
    assert.deepStrictEqual({ number: await f('number') }, { number: Object(5) });""",
    "f",
)
FLOATS = asserts("assert.deepEqual(f([0.5, 1.5]), Float64Array.of(1, 3));", "f")
STACKS = asserts(
    "assert.deepEqual(f([1, 2]), [2, 1]);\nassert.deepEqual(f([]), []);\nassert.equal(f([1]).size, 1);", "f"
)
AWAIT = asserts(
    """\
    assert.strictEqual(await later(1), 2);
    await assert.rejects(later('x'), TypeError);""",
    "later",
)
REJECTS = asserts("await assert.rejects(f(-1), RangeError);", "f")
NEAR = asserts("assert.ok(Math.abs(f(3) - 9) < 1e-9);", "f")
UNDEFINED = asserts("assert.strictEqual(f(3), undefined);", "f")
BUFFER_COMPARE = asserts("assert.strictEqual(Buffer.compare(Buffer.from(f('a')), Buffer.from('b')), 0);", "f")
BUFFER_EQUALS = asserts("assert.ok(Buffer.from('b').equals(Buffer.from(f('a'))));", "f")
LATER = asserts("setTimeout(() => assert.strictEqual(add(1, 2), 3), 20);", "add")
CALLBACK = asserts("f(1, (error, v) => { assert.ifError(error); assert.strictEqual(v, 2); });", "f")
ASYNC_CALLBACK = asserts("await f(1, async (v) => { assert.strictEqual(v, 2); });", "f")
THEN = asserts("await f(20).then((v) => assert.strictEqual(v, 21));", "f")
TEXT = asserts("assert(JSON.stringify(f([3])) === JSON.stringify([4]));", "f")
PROCESSES = replace(ASSERT, limits=Limits(cpu_s=5, wall_s=20, processes=8))
FILE = asserts("const fs = require('fs');\nf('o');\nassert(fs.readFileSync('o', 'utf8') === 'hello');", "f")
HELD = asserts(
    """\
    const r = f(1);
    assert.strictEqual(r, 2);
    assert.deepStrictEqual([f(5)], [10]);""",
    "f",
)
HELPERS = asserts(
    """\
    f(1);
    const r = g(1);
    assert.strictEqual(r, 2);
    assert(Object.is(g(2), 4));""",
    "f",
)
THIS = asserts(
    """\
    assert.strictEqual(f(), undefined);
    assert.strictEqual(g(), undefined);
    assert.strictEqual(new Node(3).constructor, Node);
    assert.strictEqual(Node.made(4).value, 4);
    assert(f.toString().includes('return this'));
    assert(/return this/.test(g));""",
    "f",
)
REQUIRES = asserts(
    """\
    const { strictEqual } = require('assert');
    strictEqual(f(2), 4);
    assert(require('node:util').isDeepStrictEqual([f(3)], [6]));""",
    "f",
)
REQUIRES_BY_NAME = asserts(
    """\
    const [first, second] = ['util', 'node:util'].map((name) => require(name).isDeepStrictEqual);
    assert(first([f(2)], [4]));
    assert(second([f(3)], [6]));""",
    "f",
)
EXIT = asserts("if (f(2) !== 4) { console.error('wrong'); process.exit(1); }", "f")
EXIT_CODE = asserts("if (f(2) !== 4) process.exitCode = 1;", "f")
GLOBAL_EXIT = asserts("if (f(2) !== 4) globalThis.process.exit(1);", "f")
LATE_EXIT = asserts("setTimeout(() => { if (f(2) !== 4) require('node:process').exit(1); }, 5);", "f")
LATE_ERROR = asserts("setTimeout(() => { if (f(2) !== 4) throw new Error('wrong'); }, 5);", "f")
BUILTIN_METHODS = asserts(
    """\
    const list = f([1, 5, 3]);
    assert.strictEqual(Math.max.apply(null, list), 5);
    assert(Object.prototype.hasOwnProperty.call(list, 2));
    assert.deepStrictEqual(list, Array.from(Uint8Array.from([1, 5, 3])));""",
    "f",
)
LISTENING_EXIT = asserts("process.once('told', () => {});\nif (f(2) !== 4) process.exit(1);", "f")
ASSIGNED = asserts(
    """\
    f = memoize(f);
    assert.strictEqual(f(3), 6);
    assert.strictEqual(JSON.stringify([f(4)]), JSON.stringify([8]));""",
    "memoize",
)
AT_END = asserts("process.on('exit', () => { if (f(2) !== 4) process.exitCode = 1; });\nassert(f);", "f")
UNAWAITED = asserts("(async () => { for (const x of [1, 2]) assert.strictEqual(await f(x), 2 * x); })();", "f")
TIMERS = asserts("for (const x of [1, 2, 3]) setTimeout(() => assert.strictEqual(f(x), 2 * x), 10 * x);", "f")
MOCKED = asserts(
    """\
    const { exit } = process;
    const codes = [];
    process.exit = (code) => { codes.push(code); };
    f(3);
    process.exit = exit;
    process.once('told', (code) => codes.push(code));
    f(4);
    process.on('beforeExit', () => assert.deepStrictEqual(codes, [3, 4]));""",
    "f",
)
OWN_METHODS = asserts(
    """\
    const names = 'array keys map subclass object promise statics iterator frozen bound'.split(' ');
    for (const name of names) assert.strictEqual(f(name), name);
    const { inspect } = require('util');
    assert.strictEqual(inspect([f('map'), new Map(), Buffer.from('')]), "[ 'map', Map(0) {}, <Buffer > ]");
    assert.deepStrictEqual(Object.keys(listed()), ['0', 'push']);""",
    "f",
)
METHODS = asserts(
    """\
    const r = new Sorter().sorted([2, 1]);
    assert.ok([2, 3].map((x) => x - 1).every((x, i) => x === r[i]) && r.join() === [2, 1].slice().reverse().join());
    assert.deepStrictEqual(r, Array.from([1, 2]));""",
    "Sorter",
)
SLICES = asserts(
    """\
    const list = [3, 1, 2];
    assert.deepStrictEqual(await f(list), list.slice().sort());
    assert.strictEqual((await f('b a'.split(/ /))).join(), 'b a'.split(/ /).sort().join());""",
    "f",
)
RANGE = asserts(
    """\
    const r = new Range();
    assert.deepStrictEqual(r.to(3), Array.apply(null, Array(3)).map((_, i) => i));
    assert.ok(r.bytes(3) instanceof Buffer && new Uint8Array([2]).hasOwnProperty('0') === r.has(2));""",
    "Range",
)
THROWS = asserts(
    """\
    assert.throws(() => f('{'), (e) => e instanceof SyntaxError && e.line === 1);
    await assert.rejects(async () => f('}'), (e) => e.message === 'bad }');""",
    "f",
)
THROWN = asserts(
    """\
    assert.throws(() => f([2, 1]), { name: 'Bad', sorted: [1, 2] });
    await assert.rejects(async () => f([5, 3, 4]), { message: 'bad', sorted: [3, 4, 5] });""",
    "f",
)
ERRORS = asserts(
    "await assert.rejects(f(-1), RangeError);\nassert.ok(await f(1).catch((e) => e) instanceof TypeError);", "f"
)
SPIES = asserts(
    """\
    const spy = (x) => { spy.count += 1; spy.last = x; };
    spy.count = 0;
    f(spy, 3);
    assert.strictEqual(spy.count, 3);
    f(spy, 2);
    assert.strictEqual(spy.count, 5);
    const seen = [];
    seen[0] = f(() => {}, 1);
    assert.strictEqual(seen[0], 1);""",
    "f",
)
GLOBAL_NAME = asserts(
    """\
    const list = [3, 1, 2];
    const r = sorted(list);
    assert.ok(r.every((x, i) => x === i + 1) && r.join() === '1,2,3');
    globalThis.twice = (x) => 2 * x;
    assert.strictEqual(twice(sorted([2, 1])[1]), 4);
    globalThis.twice = (x) => [x, x];
    assert.deepEqual(twice(sorted([9])), [[9], [9]]);""",
    None,
)
LEARNED = asserts(
    """\
    assert.strictEqual(f(5), 120, 'first');
    assert.strictEqual(f(5), 120, 'again');
    assert.deepStrictEqual([5, 5].map(f), [120, 120]);
    const { equal } = require('assert');
    try { equal(f(5), 120); } catch { assert.fail('later'); }""",
    "f",
)
LEARNED_LATER = asserts(
    """\
    assert.strictEqual(await f(5), 120, 'first');
    assert.strictEqual(await f(5), 120, 'again');
    await assert.rejects(async () => { if (await f(5) === 120) throw new Error('right'); }, { message: 'right' });""",
    "f",
)
PROMISES = asserts(
    """\
    const fs = require('fs');
    fs.writeFileSync('a', 'hello');
    assert.strictEqual(await f('a'), await fs.promises.readFile('a', 'utf8'));""",
    "f",
)
HASH = asserts(
    """\
    const crypto = require('crypto');
    assert.strictEqual(f('abc'), crypto.createHash('sha256').update('abc').digest('hex'));""",
    "f",
)
FORMAT = asserts("assert.strictEqual(f(1234.5), new Intl.NumberFormat('en-US').format(1234.5));", "f")
EVENTS = asserts(
    """\
    const Emitter = require('events');
    const emitter = new Emitter();
    let count = 0;
    emitter.on('told', (by) => { count += by; });
    f(emitter);
    assert.strictEqual(count, 3);""",
    "f",
)
CLOCK = asserts(
    """\
    const [now, time] = f();
    assert.ok(Math.abs(now - performance.now()) < 1e6 && Math.abs(Number(time - process.hrtime.bigint())) < 1e12);""",
    "f",
)
ENCODED = asserts("assert.strictEqual(f('a b'), btoa(encodeURIComponent('a b')));", "f")
ENCODERS = asserts(
    """\
    const encoder = new Encoder();
    assert.strictEqual(encoder.encode('a b'), btoa(encodeURIComponent('a b')));
    assert.deepStrictEqual(encoder.copy(['a']), structuredClone(['a']));""",
    "Encoder",
)
TIMEOUT = asserts(
    """\
    const clock = new Clock();
    clock.install();
    let count = 0;
    setTimeout(() => { count += 1; }, 10);
    clock.tick(20);
    clock.uninstall();
    assert.strictEqual(count, 1);""",
    "Clock",
)
TAKEN = asserts(
    """\
    const { strictEqual, ok: holds } = require('node:assert');
    const t = require('assert').strict;
    const calls = [];
    each([1, 2], (x) => { calls.push(x); strictEqual(x, calls.length); });
    each([3], (x) => holds(x === 3));
    each([4], (x) => t.equal(x, 4));
    each([5], (x) => t.deepEqual(each([x], (y) => y), undefined));""",
    "each",
)
TAKEN_LATER = asserts(
    """    const { strictEqual } = require('assert');
    async function main() { strictEqual(await f(1), 2); }
    main();""",
    "f",
)
NEVER_ENDING = asserts(
    """\
    const check = (a, b) => { if (a !== b) throw new Error('no'); };
    async function main() { check(await f(1), 2); check(await f(2), 4); }
    main().catch(() => process.exit(1));""",
    "f",
)
URLS = asserts(
    """\
    const url = new URL(f('http://h/'));
    assert.deepStrictEqual([...url.searchParams], [['q', '1']]);
    const found = {};
    for (const [key, value] of new URLSearchParams(url.search)) found[key] = value;
    assert.deepStrictEqual(found, { q: '1' });""",
    "f",
)
DIGEST = asserts(
    """\
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(f()));
    assert.ok(Buffer.from(digest).toString('hex').startsWith('ba7816bf'));""",
    "f",
)
SEGMENTS = asserts("assert.equal([...new Intl.Segmenter('en').segment(f())].length, 1);", "f")
KEYS = asserts(
    """\
    const { KeyObject } = require('crypto');
    assert.ok(f() instanceof KeyObject);
    assert.equal(f().export().toString(), 'key');""",
    "f",
)
FILE_HANDLE = asserts(
    """\
    const { open } = require('fs/promises');
    await f('o');
    const file = await open('o');
    const found = await file.readFile('utf8');
    await file.close();
    assert.equal(found, 'hello');""",
    "f",
)
FILE_STREAM = asserts(
    """\
    const fs = require('fs');
    f('o.txt');
    let found = '';
    for await (const part of fs.createReadStream('o.txt', 'utf8')) found += part;
    assert.equal(found, 'hello');""",
    "f",
)
WRITTEN = asserts(
    """\
    const fs = require('fs');
    const stream = fs.createWriteStream('p.txt');
    stream.write(f());
    stream.end();
    stream.on('finish', () => assert.equal(fs.readFileSync('p.txt', 'utf8'), 'hello'));""",
    "f",
)
UNZIPPED = asserts(
    """\
    const zlib = require('zlib');
    assert.equal(zlib.gunzipSync(f()).toString(), 'hello');
    const stream = zlib.createGunzip();
    let found = '';
    stream.on('data', (part) => { found += part; });
    stream.on('end', () => assert.equal(found, 'hello'));
    stream.end(f());""",
    "f",
)
SHA = asserts(
    "const { createHash } = require('crypto');\n"
    "assert.equal(createHash('sha1').update(f()).digest('hex').slice(0, 8), 'a9993e36');",
    "f",
)
SIGNAL = asserts(
    "const controller = new AbortController();\nf(controller);\nassert.equal(controller.signal.aborted, true);", "f"
)
HEADERS = asserts("assert.equal(new Response('', { headers: f() }).headers.get('a'), 'b');", "f")
BLOB = asserts("assert.equal(await f().text(), 'hello');\nassert.ok(f() instanceof Blob);", "f")
READER = asserts(
    """\
    const stream = new ReadableStream({ start(controller) { f(controller); } });
    assert.equal((await stream.getReader().read()).value, 'hello');""",
    "f",
)
FORM = asserts("assert.deepStrictEqual([...new FormData(), ...f(new FormData())], [['a', '1']]);", "f")
PORTS = asserts(
    """\
    const { port1, port2 } = new MessageChannel();
    const found = new Promise((resolve) => { port2.onmessage = ({ data }) => resolve(data); });
    port1.postMessage(f());
    assert.equal(await found, 'hello');
    port1.close();""",
    "f",
)
TIMER = asserts("const timer = f();\nassert.equal(timer.hasRef(), true);\nclearTimeout(timer);", "f")
MOCKS = asserts(
    """\
    const { mock } = require('node:test');
    const called = mock.fn();
    f(called);
    assert.deepEqual([called.mock.callCount(), called.mock.calls[0]?.arguments], [2, [1]]);""",
    "f",
)
DURATION = asserts(
    "assert.equal(performance.measure('one', { start: 10, end: await f() }).duration, 5);\n"
    "assert.ok(performance.mark('other', { startTime: 3 }).startTime === (await f()) - 12);",
    "f",
)
GLOBAL = task(CallTest(("12",), expected=12), name="parseInt")
NO_FIELDS = task(CallTest((0,), expected={}), CallTest((1,), expected={}), name="f")
VALUE = asserts(
    """\
    assert.deepStrictEqual([1, 2].map(f), [2, 4]);
    assert.strictEqual(f(3), 6);
    double = f;
    assert.strictEqual(double(4), 8);
    assert.strictEqual(module.exports.g(5), 10);""",
    "f",
)
BEFORE_EXIT = asserts(
    """\
    let failures = 0;
    const check = (a, b) => { if (a !== b) failures += 1; };
    process.on('beforeExit', () => { if (failures) process.exit(1); });
    check(f(1), 2);""",
    "f",
)
