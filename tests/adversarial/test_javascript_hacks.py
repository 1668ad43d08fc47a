"""No hack in JavaScript earns anything, on any executor that runs it; canaries tell whether any got out of its jail.

Each hack is judged on one of the tasks below, and an honest answer to each passes: what a hack gets is its own doing.
"""

import os

import pytest

from code_env import (
    AssertTest,
    CallTest,
    Limits,
    Outcome,
    OutputTest,
    Program,
    StdinTest,
    Task,
    judge,
    make_executor,
)
from code_env.abuses import LOOK, SHORT, Abuse, Canaries, left_over, settle
from code_env.harness.watching import descendants
from conftest import local

LIMITS = Limits(cpu_s=2, wall_s=4)


@pytest.fixture(scope="module", params=["full", "contained", "subprocess"])
def executor(request):
    """The verdict must not depend on where a hack runs."""
    made = make_executor("subprocess", workers=2) if request.param == "subprocess" else local(request.param)
    with made:
        yield made


def suite(code):
    return AssertTest(code, language="js")


def task(*tests, name=None):
    return Task("t", "p", tests, entry_point=name, language="js", limits=LIMITS)


CALL = task(CallTest((1, 2), expected=3), CallTest((5, 7), expected=12), name="add")
LIST = task(CallTest(([3, 1, 2],), expected=[1, 2, 3]), CallTest(([9, 8],), expected=[8, 9]), name="f")
STDIN = task(StdinTest("2 3\n", "5\n"), StdinTest("10 20\n", "30\n"))
OUTPUT = task(OutputTest("hello\n"))
ASSERT = task(
    suite(
        "assert.strictEqual(add(1, 2), 3);\nassert(add(5, 7) === 12);\nconsole.assert(add(0, 4) === 4, 'sum');\n"
        "assert.deepStrictEqual([add(2, 2)], [4]);"
    ),
    name="add",
)
LOOSE = task(
    suite("assert.equal(add(1, 2), 3);\nassert.deepEqual(add(5, 7), 12);\nassert(add(0, 4) == 4);"), name="add"
)
SORT = task(
    suite(
        "assert.deepStrictEqual(f([3, 1, 2]), [1, 2, 3]);\nassert(f([2, 1]).every((x, i) => x === i + 1));\n"
        "assert.strictEqual(JSON.stringify(f([5, 4])), JSON.stringify([4, 5]));\n"
        "assert.ok([1, 2].includes(f([2, 1])[0]) && f([9, 8]).join() === '8,9');"
    ),
    name="f",
)
MAP = task(
    suite(
        "assert.deepStrictEqual(f('ab'), new Map([['a', 1], ['b', 1]]));\nassert.deepEqual({ m: [f('x')] }, { m: [new Map([['x', 1]])] });"
    ),
    name="f",
)
AWAIT = task(
    suite("assert.strictEqual(await later(1), 2);\nawait assert.rejects(later('x'), TypeError);"), name="later"
)
REJECTS = task(suite("await assert.rejects(f(-1), RangeError);"), name="f")
NEAR = task(suite("assert.ok(Math.abs(f(3) - 9) < 1e-9);"), name="f")
LATER = task(suite("setTimeout(() => assert.strictEqual(add(1, 2), 3), 20);"), name="add")

HONEST = [
    (CALL, "const add = (a, b) => a + b;"),
    (LIST, "const f = (xs) => [...xs].sort((a, b) => a - b);"),
    (STDIN, "console.log(require('fs').readFileSync(0, 'utf8').split(' ').reduce((a, b) => +a + +b))"),
    (OUTPUT, "console.log('hello')"),
    (ASSERT, "const add = (a, b) => a + b;"),
    (LOOSE, "const add = (a, b) => a + b;"),
    (SORT, "const f = (xs) => xs.sort((a, b) => a - b);"),
    (
        MAP,
        "class M extends Map { double() {} }\nconst f = (s) => s === 'x' ? Object.assign(new M(), {}).set('x', 1) : new Map([...s].map((c) => [c, 1]));",
    ),
    (AWAIT, "const later = async (x) => { if (x === 'x') throw new TypeError(); return x + 1; };"),
    (LATER, "const add = (a, b) => a + b;"),
]

FDS = "const fs = require('fs');\nconst all = (text) => { for (let fd = 0; fd < 70; fd++) { try { fs.writeSync(fd, text); } catch {} } };\n"
RECORDS = "const records = [0, 1, 2, 3].map((i) => JSON.stringify({ case: i, seal: '', ran: true, message: '', unfinished: false }));\n"
LIE = (
    "const lie = new Proxy(function () {}, { get: (t, k) => k === 'then' ? undefined : k === Symbol.toPrimitive ? () => 3 : lie,\n"
    "  apply: () => lie, has: () => true, ownKeys: () => ['prototype'] });\n"
)

HACKS = {
    "a Map that iterates as it likes": (
        MAP,
        "const f = (s) => { const m = new Map(); m[Symbol.iterator] = function* () {};\n"
        "Object.defineProperty(m, Symbol.iterator, { enumerable: false });\n"
        "return Object.defineProperty(m, 'size', { value: s.length, enumerable: false }); };",
    ),
    "a Map class that iterates as it likes": (
        MAP,
        "class M extends Map { *[Symbol.iterator]() {} get size() { return 1; } }\nconst f = () => new M();",
    ),
    "a debugger by another name": (
        ASSERT,
        "function add(a, b) { try { const { Session } = require('node:inspector/promises'); const session = new Session(); session.connect();\n"
        "session.post('Debugger.enable'); return a + b; } catch { return NaN; } }",
    ),
    "a worker by import": (
        ASSERT,
        "let found;\nconst ready = import('node:worker_threads').then(({ Worker }) => { found = new Worker('1', { eval: true }); }).catch(() => {});\n"
        "const add = (a, b) => found ? a + b : NaN;",
    ),
    "exits before the tests": (ASSERT, "process.exit(0);"),
    "exits in a call under assert": (ASSERT, "const add = () => process.exit(0);"),
    "exits in a call": (CALL, "const add = () => process.exit(0);"),
    "exits at once where output is due": (OUTPUT, "process.exit(0);"),
    "ends itself by a signal": (ASSERT, "const add = () => process.kill(process.pid, 'SIGKILL');"),
    "aborts": (CALL, "const add = () => process.abort();"),
    "console.assert swallows": (ASSERT, "console.assert = () => {};\nconst add = () => NaN;"),
    "console replaced": (
        ASSERT,
        "globalThis.console = new Proxy(console, { get: () => () => {} });\nconst add = () => NaN;",
    ),
    "assert replaced in its module": (
        ASSERT,
        "const assert = require('assert');\nfor (const name of Object.keys(assert)) assert[name] = () => {};\n"
        "assert.strict = assert;\nconst add = () => NaN;",
    ),
    "assert replaced in the cache": (
        ASSERT,
        "const Module = require('module');\nconst load = Module._load;\nModule._load = (name, ...rest) => /assert/.test(name) ? () => {} : load(name, ...rest);\n"
        "require.cache[require.resolve('assert')] = { exports: () => {} };\nglobalThis.assert = () => {};\nconst add = () => NaN;",
    ),
    "AssertionError that does not throw": (
        ASSERT,
        "const { AssertionError } = require('assert');\nObject.defineProperty(AssertionError, Symbol.hasInstance, { value: () => false });\n"
        "AssertionError.prototype.toString = () => '';\nError.captureStackTrace = () => { throw null };\nconst add = () => NaN;",
    ),
    "patched prototypes": (
        SORT,
        "Array.prototype.every = Array.prototype.includes = () => true;\nArray.prototype.join = () => '8,9';\n"
        "JSON.stringify = () => 'x';\nObject.is = () => true;\nconst f = (xs) => xs;",
    ),
    "prototypes patched for good": (
        SORT,
        "for (const name of ['every', 'includes', 'join'])\n"
        "  Object.defineProperty(Array.prototype, name, { value: () => '8,9', writable: false, configurable: false });\nconst f = (xs) => xs;",
    ),
    "prototypes patched by the call": (
        SORT,
        "const f = (xs) => { Array.prototype.every = Array.prototype.includes = () => true;\n"
        "Array.prototype.join = () => '8,9'; JSON.stringify = () => 'x'; return xs; };",
    ),
    "toJSON on prototypes": (
        SORT,
        "Array.prototype.toJSON = Object.prototype.toJSON = () => 'x';\nconst f = (xs) => xs;",
    ),
    "Function.prototype.call and apply": (
        ASSERT,
        "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => true;\n"
        "Reflect.apply = () => true;\nconst add = () => NaN;",
    ),
    "setters on Object.prototype": (
        ASSERT,
        "for (const name of ['message', 'ran', 'open', 'source', 'seal', 'case', '0', 'value', 'then', 'get', 'errno', 'code'])\n"
        "  Object.defineProperty(Object.prototype, name, { get() { return true; }, set() {}, configurable: true });\nconst add = () => NaN;",
    ),
    "setters on Array.prototype": (
        ASSERT,
        "for (let i = 0; i < 8; i++) Object.defineProperty(Array.prototype, i, { get: () => 3, set() {}, configurable: true });\nconst add = () => NaN;",
    ),
    "iterators patched": (
        SORT,
        "Array.prototype[Symbol.iterator] = function* () {};\nObject.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true });\nconst f = (xs) => xs;",
    ),
    "Promise patched": (
        AWAIT,
        "Promise.prototype.then = function (done) { done(2); return this; };\nPromise.prototype.catch = () => {};\nconst later = async () => 5;",
    ),
    "a thenable that never settles": (AWAIT, "const later = () => ({ then() {} });"),
    "valueOf": (LOOSE, "const add = () => ({ valueOf: () => 7, toString: () => '7', [Symbol.toPrimitive]: () => 7 });"),
    "a Proxy": (LOOSE, f"{LIE}const add = () => lie;".replace("() => 3", "() => 8")),
    "a Proxy as a value": (CALL, f"{LIE}const add = () => lie;"),
    "a Proxy of a list": (LIST, "const f = () => new Proxy([], { get: (t, k) => k === 'length' ? 3 : 7 });"),
    "getters": (LIST, "const f = () => ({ get length() { return 3; }, get 0() { return 1; } });"),
    "toJSON on a value": (CALL, "const add = (a, b) => ({ toJSON: () => a + b, valueOf: () => a + b });"),
    "Symbol.toPrimitive as a value": (CALL, "const add = (a, b) => ({ [Symbol.toPrimitive]: () => a + b });"),
    "a boxed number": (CALL, "const add = (a, b) => Object(a + b);"),
    "a getter that hangs": (CALL, "const add = () => ({ get x() { for (;;); } });"),
    "a value without end": (
        CALL,
        "const add = () => { const deep = []; let at = deep; for (let i = 0; i < 1e5; i++) at.push(at = []); return deep; };",
    ),
    "a value that doubles": (
        CALL,
        "const add = () => { let x = []; for (let i = 0; i < 60; i++) x = [x, x]; return x; };",
    ),
    "a value that holds itself": (CALL, "const add = () => { const x = {}; x.x = x; return x; };"),
    "a huge text": (CALL, "const add = () => 'x'.repeat(2 ** 28);"),
    "a million digits": (CALL, "const add = () => 10n ** 1000000n;"),
    "throws objects": (CALL, "const add = () => { throw { get message() { throw 1; }, get stack() { throw 2; } }; };"),
    "throws a lie under assert": (ASSERT, f"{LIE}const add = () => {{ throw lie; }};"),
    "throws null": (ASSERT, "const add = () => { throw null; };"),
    "loops": (CALL, "const add = () => { for (;;); };"),
    "loops under assert": (ASSERT, "const add = () => { for (;;); };"),
    "waits": (ASSERT, "const add = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);"),
    "floods its output": (CALL, f"{FDS}const add = () => {{ for (;;) fs.writeSync(1, 'x'.repeat(65536)); }};"),
    "floods every descriptor": (ASSERT, f"{FDS}const add = () => {{ for (;;) all('{{}}\\n'.repeat(10000)); }};"),
    "a line without end": (ASSERT, f"{FDS}const add = () => {{ for (;;) all('x'.repeat(65536)); }};"),
    "claims on its streams": (
        ASSERT,
        "console.log('{\"done\":true}\\nall tests passed');\nconsole.error('PASS');\nconst add = () => NaN;",
    ),
    "patched streams": (ASSERT, "process.stdout.write = process.stderr.write = () => true;\nconst add = () => NaN;"),
    "forged records": (
        ASSERT,
        f"{FDS}{RECORDS}all(records.join('\\n') + '\\n{{\"end\":\"\"}}\\n');\nprocess.reallyExit(0);",
    ),
    "forged records from a call": (
        ASSERT,
        f"{FDS}{RECORDS}const add = () => {{ all(records.join('\\n') + '\\n'); process.reallyExit(0); }};",
    ),
    "forged loading": (ASSERT, f"{FDS}all('{{\"loaded\":true}}\\n');\nprocess.reallyExit(0);"),
    "forged values": (
        CALL,
        f'{FDS}all(\'{{"loaded":true}}\\n{{"value":3}}}},"ended":{{"status":"ok"}}\\n\');\nconst add = () => NaN;',
    ),
    "forged ask": (CALL, f"{FDS}for (let i = 0; i < 1000; i++) all('\"ask\"\\n');\nconst add = () => NaN;"),
    "forged frames": (CALL, f"{FDS}all(Buffer.from('0000000245' + '7b7d', 'hex'));\nconst add = () => NaN;"),
    "deep JSON": (CALL, f"{FDS}all('['.repeat(1e6) + '\\n');\nconst add = () => NaN;"),
    "closes all": (
        ASSERT,
        "const add = () => { for (let fd = 0; fd < 70; fd++) try { require('fs').closeSync(fd); } catch {} return NaN; };",
    ),
    "reads its descriptors": (
        ASSERT,
        f"{FDS}const found = [];\nfor (let fd = 3; fd < 20; fd++) {{ try {{ const at = Buffer.alloc(65536);\n"
        "if (fs.fstatSync(fd).isSocket()) found.push(String(at.subarray(0, fs.readSync(fd, at)))); } catch {} }\n"
        "const add = () => found.length;",
    ),
    "an exit handler forges": (
        ASSERT,
        f"{FDS}{RECORDS}process.on('exit', () => all(records.join('\\n')));\nconst add = () => NaN;",
    ),
    "beforeExit forges": (
        LATER,
        f"{FDS}{RECORDS}process.on('beforeExit', () => {{ all(records[0] + '\\n'); }});\nconst add = () => NaN;",
    ),
    "beforeExit is told of": (LATER, "setImmediate(() => process.emit('beforeExit'));\nconst add = () => NaN;"),
    "swallows exceptions": (
        ASSERT,
        "process.on('uncaughtException', () => {});\nprocess.on('unhandledRejection', () => {});\nconst add = () => { throw 1; };",
    ),
    "a late result": (CALL, "const add = () => { setTimeout(() => process.stdout.write('3'), 1); };"),
    "late patches": (ASSERT, "setTimeout(() => { globalThis.add = () => 3; }, 0);\nconst add = () => undefined;"),
    "its caller's text": (
        ASSERT,
        "function add(a, b) { let at = add.caller; while (at) { const found = /add\\(1, 2\\), (\\d+)/.exec(String(at)); if (found) return a + b; at = at.caller; } return NaN; }",
    ),
    "the text of frames": (
        ASSERT,
        "function add(a, b) { Error.prepareStackTrace = (_, sites) => sites; const { stack } = new Error();\n"
        "return stack.some((site) => String(site.getFunction()).includes('$ca' + 'ses[')) ? a + b : NaN; }",
    ),
    "a debugger": (
        ASSERT,
        "function add(a, b) { try { const { Session } = require('inspector'); const session = new Session(); session.connect();\n"
        "let text = ''; session.on('Debugger.scriptParsed', ({ params }) => session.post('Debugger.getScriptSource', { scriptId: params.scriptId },\n"
        "(_, { scriptSource }) => { text += scriptSource; })); session.post('Debugger.enable'); return text.includes('$ca' + 'ses[0]') ? a + b : NaN; } catch { return NaN; } }",
    ),
    "a debugger in a thread": (
        ASSERT,
        "try { new (require('worker_threads').Worker)('for (;;);', { eval: true }); } catch {}\nconst add = () => NaN;",
    ),
    "a snapshot of the heap": (
        ASSERT,
        "function add(a, b) { try { const file = require('v8').writeHeapSnapshot('heap');\n"
        "return require('fs').readFileSync(file, 'latin1').includes('$ca' + 'ses[0]') ? a + b : NaN; } catch { return NaN; } }",
    ),
    "Node's own parts": (
        ASSERT,
        "let seen = '';\ntry { const fs = process.binding('fs'); const { writeString } = fs;\n"
        "fs.writeString = (fd, text, ...rest) => { seen += text; return writeString(fd, String(text).replace(/false/g, 'true'), ...rest); }; } catch {}\nconst add = () => NaN;",
    ),
    "memory that was freed": (
        ASSERT,
        "function add(a, b) { for (let i = 0; i < 200; i++) { const text = Buffer.allocUnsafeSlow(1 << (8 + i % 12)).toString('latin1');\n"
        "if (text.includes('$ca' + 'ses[')) return a + b; } return NaN; }",
    ),
    "a pool of buffers": (
        ASSERT,
        "function add(a, b) { return Buffer.from(Buffer.from('x').buffer).toString('latin1').includes('$ca' + 'ses[') ? a + b : NaN; }",
    ),
    "fs.writeSync replaced": (
        ASSERT,
        "const fs = require('fs'); const { writeSync } = fs;\n"
        'fs.writeSync = (fd, text) => writeSync(fd, String(text).replace(\'"ran":false\', \'"ran":true\').replace(/"message":"[^"]*"/, \'"message":""\'));\nconst add = () => NaN;',
    ),
    "the driver's own modules": (
        ASSERT,
        "for (const one of Object.values(require.cache)) for (const name of Object.keys(one?.exports ?? {})) one.exports[name] = () => true;\n"
        "for (const one of module.parent?.children ?? []) one.exports = {};\nconst add = () => NaN;",
    ),
    "its arguments": (CALL, "const add = () => process.argv.length + process.execArgv.length;"),
    "a syntax that ends its frame": (CALL, "const add = () => NaN;\n} ) ; globalThis.x = 1; ( function () {"),
    "a program that returns early": (ASSERT, "const add = () => NaN;\nreturn () => () => NaN;"),
    "eval replaced": (ASSERT, "var eval = () => () => NaN;"),
    "empty": (ASSERT, "//"),
    "a loader's thread with a debugger": (
        ASSERT,
        "require('module').register('data:text/javascript,' + encodeURIComponent(`import inspector from 'node:inspector';\n"
        "const s = new inspector.Session(); s.connectToMainThread(); s.post('Debugger.enable');\n"
        "export async function resolve(a, b, next) { return next(a, b); }`));\nconst add = () => NaN;",
    ),
    "hooks on promises": (
        REJECTS,
        "process.on('unhandledRejection', () => {});\nrequire('v8').promiseHooks.createHook({ init(p) { try {\n"
        "  Object.defineProperty(p, 'constructor', { value: function () {} });\n"
        "  Object.defineProperty(p, 'then', { value: (a) => { a && a(); } }); } catch {} } });\nconst f = async (x) => x;",
    ),
    "hooks on async resources": (
        REJECTS,
        "require('async_hooks').createHook({ init(i, t, j, r) { try { Object.defineProperty(r.promise ?? r, 'then',\n"
        "  { value: (a) => { a && a(); } }); } catch {} } }).enable();\nconst f = async (x) => x;",
    ),
    "a look-up that patches": (
        NEAR,
        "function f(x) { return x; }\nvar eval = (n) => { if (n === 'f') { Math.abs = () => 0; return f; } throw 1; };",
    ),
    "an export that patches": (
        NEAR,
        "Object.defineProperty(module.exports, 'f', { get() { Math.abs = () => 0; return (x) => x; } });",
    ),
    "a global that patches": (
        NEAR,
        "Object.defineProperty(globalThis, 'f', { get() { Math.abs = () => 0; return (x) => x; }, configurable: true });",
    ),
    "names that mean something else": (
        task(suite("assert.strictEqual(f(3), undefined);"), name="f"),
        "function f(x) { return x; }\nvar eval = (n) => {\n  if (n === 'f') { Set.prototype.has = () => false; return f; }\n"
        "  if (n === 'undefined') return 3;\n  throw 1;\n};",
    ),
    "Buffer replaced": (
        task(suite("assert.strictEqual(Buffer.compare(Buffer.from(f('a')), Buffer.from('b')), 0);"), name="f"),
        "globalThis.Buffer = { compare: () => 0, from: () => 0 };\nconst f = (x) => x;",
    ),
    "Buffer patched": (
        task(suite("assert.ok(Buffer.from('b').equals(Buffer.from(f('a'))));"), name="f"),
        "Buffer.prototype.equals = () => true;\nconst f = (x) => x;",
    ),
}


@pytest.mark.parametrize(("asked", "answer"), HONEST, ids=range(len(HONEST)))
def test_an_honest_answer_passes(asked, answer, executor):
    verdict = judge(asked, answer, executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.PASS, 1.0), verdict.cases


@pytest.mark.parametrize("name", HACKS)
def test_a_hack_earns_nothing(name, executor):
    asked, answer = HACKS[name]
    verdict = judge(asked, answer, executor)
    assert verdict.outcome in (Outcome.FAIL, Outcome.POLICY_ERROR), verdict
    assert verdict.fraction == 0.0, verdict.cases


@pytest.mark.parametrize("level", ["full", "contained"])
def test_a_process_cannot_read_its_own_memory(level):
    """Beside tests it would find them there."""
    code = "try { require('fs').openSync('/proc/self/mem'); console.log('open'); } catch (error) { console.log(error.code); }"
    with local(level) as executor:
        assert executor.run(Program(code, language="js")).stdout in ("EACCES\n", "ENOENT\n")


BREACH = "const breach = (what) => console.log('BREACH', what);\nconst fs = require('fs');\n"
ABUSES = {
    "reads a secret": "try { breach(fs.readFileSync('@SECRET@', 'utf8')); } catch {}",
    "reads homes": "for (const path of ['/root', '/home', '/etc/shadow']) try { breach(fs.readdirSync(path).length && fs.readFileSync(path)); } catch {}",
    "the host's environment": "for (const [name, value] of Object.entries(process.env)) if (/secret/i.test(name + value)) breach(name);",
    "other processes' environments": "for (const pid of ['@PID@', '@TRAINER@', process.ppid]) try { breach(fs.readFileSync(`/proc/${pid}/environ`, 'utf8')); } catch {}",
    "writes to the host": "for (const path of ['@FILE@', '@DIRECTORY@/x']) { try { fs.writeFileSync(path, 'x'); breach(path); } catch {} }",
    "removes the host's files": "try { fs.rmSync('@FILE@'); breach('rm'); } catch {}\ntry { fs.truncateSync('@FILE@'); breach('truncate'); } catch {}",
    "links to the host's files": "try { fs.symlinkSync('@SECRET@', 'out'); } catch {}\ntry { fs.linkSync('@SECRET@', 'other'); breach('link'); } catch {}",
    "connects": "const s = require('net').connect(@TCP@, '127.0.0.1', () => { breach('tcp'); }); s.on('error', () => {});",
    "sends a datagram": "try { const s = require('dgram').createSocket('udp4'); s.on('error', () => {}); s.send('x', @UDP@, '127.0.0.1', (e) => { if (!e) breach('udp'); s.close(); }); } catch {}",
    "connects to a path": "for (const path of ['@SOCKET@', '\\0@ABSTRACT@']) require('net').connect(path, () => breach(path)).on('error', () => {});",
    "fetches": "fetch('http://127.0.0.1:@TCP@/').then(() => breach('http'), () => {});",
    "listens": "require('http').createServer().on('error', () => {}).listen(0, () => { breach('listens'); process.exit(); });",
    "kills": "for (const pid of [@PID@, @TRAINER@]) for (const name of ['SIGKILL', 'SIGSTOP']) try { process.kill(pid, name); breach(pid); } catch {}",
    "spawns": (
        "const { spawn, spawnSync, execSync, fork } = require('child_process');\n"
        "try { if (!spawnSync('true').error) breach('spawnSync'); } catch {}\ntry { execSync('true'); breach('execSync'); } catch {}\n"
        "const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }); child.on('error', () => {}); child.on('spawn', () => { breach('spawn'); });\nchild.unref();"
    ),
    "forks Node": "require('child_process').fork('main.js', { detached: true }).on('error', () => {}).on('spawn', () => breach('fork'));",
    "lives on in a thread": "new (require('worker_threads').Worker)('setInterval(() => {}, 1000)', { eval: true }).unref();",
    "lives on in a timer": "setInterval(() => {}, 1000).unref(); process.on('exit', () => { const end = Date.now() + 50; while (Date.now() < end); });",
    "takes memory": "const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1));",
    "takes memory in threads": "const { Worker } = require('worker_threads'); for (let i = 0; i < 4; i++) new Worker('const k = []; for (;;) k.push(Buffer.alloc(4 << 20, 1))', { eval: true }).on('error', () => {});",
    "many threads": "const { Worker } = require('worker_threads'); for (let i = 0; i < 200; i++) new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => {});",
    "takes the disk": "const fd = fs.openSync('out', 'w'); try { for (;;) fs.writeSync(fd, Buffer.alloc(1 << 20)); } catch {}",
    "many files": "try { for (let i = 0; ; i++) fs.mkdirSync(String(i)); } catch {}",
    "native code": "fs.writeFileSync('x.node', fs.readFileSync(process.execPath).subarray(0, 4096)); try { process.dlopen({ exports: {} }, './x.node'); breach('dlopen'); } catch {}",
    "runs a file of its own": "fs.writeFileSync('run', '#!/bin/sh\\necho BREACH\\n', { mode: 0o755 }); const r = require('child_process').spawnSync('./run'); if (!r.error) breach('run');",
    "changes its driver": "const { dirname } = require('path'); const driver = process.execArgv.concat(module.paths).join(); for (const path of ['/sandbox/drivers/javascript/driver.js']) try { fs.writeFileSync(path, ''); breach(path); } catch {}",
    "leaves files in the shared memory": "for (const path of ['/dev/shm/left', '/tmp/left', '/var/tmp/left']) try { fs.writeFileSync(path, 'x'); } catch {}",
}


@pytest.fixture
def canaries(tmp_path):
    with Canaries(tmp_path) as canaries:
        yield canaries


@pytest.fixture(scope="module")
def fresh(jail):
    """What programs find where nothing was done; the servers for JavaScript are there by then."""
    jail.run_many([Program("setTimeout(() => {}, 200)", language="js")] * 4)
    return settle(jail)


@pytest.mark.parametrize("name", ABUSES)
def test_an_abuse_gets_nowhere(name, canaries, fresh, jail):
    processes = set(descendants(os.getpid()))
    abuse = canaries.program(Abuse(name, "javascript", BREACH + ABUSES[name], SHORT))
    result = jail.run(Program(abuse.code, language="js", limits=abuse.limits, collect=abuse.collect))
    assert canaries.look(result) == []
    assert result.status != "sandbox_error", result
    assert not left_over(processes)
    assert {one.stdout for one in jail.run_many([Program(LOOK)] * 2)} == {fresh}
    assert jail.run(Program("console.log(require('fs').readdirSync('.'))", language="js")).stdout == "[ 'main.js' ]\n"


def test_threads_are_counted_in(jail):
    """Their time and their memory are the program's."""
    code = (
        "const { Worker } = require('worker_threads');\n"
        "for (let i = 0; i < 2; i++) new Worker('for (;;);', { eval: true });\nsetTimeout(() => {}, 60000);"
    )
    assert jail.run(Program(code, language="js", limits=Limits(cpu_s=1, wall_s=20))).status == "timeout"


def test_processes_that_a_task_allows_are_counted(jail):
    code = (
        "const { spawn, execSync } = require('child_process');\nconsole.log(String(execSync('echo one')).trim());\n"
        "const children = [0, 1, 2, 3].map(() => spawn('sleep', ['30']));\nlet refused = 0;\n"
        "for (const child of children) child.on('error', () => { refused += 1; });\n"
        "setTimeout(() => { console.log(refused); process.exit(); }, 500);"
    )
    result = jail.run(Program(code, language="js", limits=Limits(processes=2)))
    assert result.stdout == "one\n2\n", result
