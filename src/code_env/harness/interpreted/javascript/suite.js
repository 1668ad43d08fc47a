// Runs a suite of tests beside an answer, in the answer's process, after the answer's top level has run.
//
// The tests' text, and two seals for each case, arrive before the answer's first line runs. They wait in a closure until
// the top level has run. A case is a place in the text where something is asserted, see cases.js. It passes if it was
// reached at least once and never failed. All results are written at the end, each with one of the seals of its case. If
// the answer ends the process before that, or writes a line without a seal, it has reported no result.
//
// The tests are strict code. So a function that they call cannot find its caller. They are compiled before the answer
// runs, and then there is no text of them any more, which a function that they hand over could show.

'use strict';

const { setFlagsFromString } = require('v8');
const vm = require('vm');
const Module = require('module');
const { isOneOf, ofAssert, modulesOfTests } = require('./assertions.js');
const { makeCases } = require('./cases.js');
const { describe, headline } = require('./errors.js');
const { watchFlows } = require('./flows.js');
const { ledTo } = require('./instances.js');
const { keep } = require('./intrinsics.js');
const { importOf, loadersOf, modulesOf, requireOf } = require('./modules.js');
const { processOfTests, whenNothingIsLeft, whenUncaught } = require('./process.js');
const { entryPoint } = require('./program.js');
const { makeRunner } = require('./runner.js');
const { makeGuard, scopeFor, usedAsValues } = require('./scope.js');

const { compileFunction } = vm;
const { isArrayBufferView } = require('util').types;
const { construct, ownKeys } = Reflect;
const { stringify } = JSON;
const SELF = process;
const { random } = Math;
const { bigint: now } = process.hrtime;

const PATIENCE = 0.8; // the share of the wall time after which tests of which all cases were reached do not go on
const WAITING = 'nothing is left to run, and an async function of theirs still waits';

// Refuses what would let an answer look into closures or the heap: a debugger, snapshots, native code, Node's internals.
function closeBackDoors() {
  const inspector = require('inspector');
  const v8 = require('v8');
  const refuse = (name) => () => {
    throw new Error(`${name} is not to be had beside tests`);
  };
  for (const name of ['Session', 'open', 'url', 'waitForDebugger']) replace(inspector, name, refuse(name));
  for (const name of ['getHeapSnapshot', 'writeHeapSnapshot', 'setFlagsFromString', 'setHeapSnapshotNearHeapLimit', 'queryObjects']) {
    replace(v8, name, refuse(name));
  }
  // A worker's debugger reaches the main thread.
  replace(require('worker_threads'), 'Worker', refuse('Worker'));
  // A loader's hooks run in a worker; hooks on promises see the promises of the tests.
  for (const name of ['register', 'registerHooks']) replace(Module, name, refuse(name));
  for (const name of ['createHook', 'onInit', 'onBefore', 'onAfter', 'onSettled']) replace(v8.promiseHooks, name, refuse(name));
  replace(require('async_hooks'), 'createHook', refuse('createHook'));
  replace(require('trace_events'), 'createTracing', refuse('createTracing'));
  refuseBytecode();
  refuseLibraries(refuse);
  for (const name of ['execve', 'binding', '_linkedBinding', 'dlopen', '_debugProcess']) replace(process, name, refuse(name));
  // The tests end by an exception that nobody catches.
  replace(process, 'setUncaughtExceptionCaptureCallback', refuse('setUncaughtExceptionCaptureCallback'));
  replace(process, '_fatalException', process._fatalException);
  Module.syncBuiltinESMExports();
}

// V8 does not check the bytecode in `cachedData`, and bytecode can read and write all memory. So code is compiled anew
// each time. `Script` finds the class that it extends by its prototype, for each instance.
function refuseBytecode() {
  const { Script } = vm;
  const real = Object.getPrototypeOf(Script);
  function WithoutBytecode(...args) {
    for (let i = 0; i < args.length; i += 1) args[i] = isArrayBufferView(args[i]) ? undefined : args[i];
    return construct(real, args, new.target);
  }
  WithoutBytecode.prototype = real.prototype;
  replace(real.prototype, 'constructor', WithoutBytecode);
  Object.setPrototypeOf(Script, WithoutBytecode);
  replace(vm, 'compileFunction', (code, names, options) => {
    const own = typeof options === 'object' && options !== null ? { __proto__: null, ...options, cachedData: undefined } : options;
    return compileFunction(code, names, own);
  });
  replace(vm, 'SourceTextModule', undefined);
  replace(Module, 'enableCompileCache', () => ({ status: Module.constants?.compileCacheStatus?.DISABLED }));
}

// OpenSSL and SQLite can load a library that the answer has written. To load all of `crypto` takes 4 ms, and is only done
// where Node has its function already, or does not show where `crypto` will take it from.
function refuseLibraries(refuse) {
  const { emitWarning, moduleLoadList } = process;
  process.emitWarning = () => {};
  try {
    let crypto;
    try {
      const isLoaded = moduleLoadList.includes('NativeModule internal/crypto/util');
      crypto = isLoaded ? require('crypto') : process.binding('crypto');
    } catch {
      crypto = require('crypto');
    }
    replace(crypto, 'setEngine', refuse('setEngine'));
    if (Module.isBuiltin('node:sqlite')) replace(require('node:sqlite').DatabaseSync.prototype, 'loadExtension', refuse('loadExtension'));
  } finally {
    process.emitWarning = emitWarning;
  }
}

// Gives a property, if there is one, a value that nobody can change.
function replace(object, name, value) {
  if (name in object) Object.defineProperty(object, name, { value, writable: false, configurable: false });
}

// Returns the tests' text as that of a function of `$scope`, which holds the names that the tests do not bind themselves.
function bodyOf(text) {
  return `with ($scope) { return async () => { 'use strict'; ${text}\n}; }`;
}

// Compiles this text.
//
// Errors of JavaScript can quote the text of a function, and it has a method that shows it. So all functions are compiled
// at once, and taken over, as from a cache, for another text of the same length: V8 compares nothing else. This ends in a
// number that nobody can guess, so that no other script has the same text.
function compileTests(body) {
  const secret = `//${random()}${random()}${now()}`;
  const compile = (source, options) => compileFunction(source, ['$scope'], { filename: 'tests.js', ...options });
  setFlagsFromString('--no-flush-bytecode'); // What V8 forgot it would compile again, from the other text.
  setFlagsFromString('--no-lazy');
  try {
    const { cachedData } = compile(body + secret, { produceCachedData: true });
    const compiled = compile(blanked(body) + secret, { cachedData });
    if (compiled.cachedDataRejected) throw new Error('V8 does not take the compiled tests');
    return compiled;
  } finally {
    setFlagsFromString('--lazy');
  }
}

// Returns a text of the same length that says nothing. To word a TypeError, V8 reads the function that raised it again. It
// reports nothing if that fails, but it ends Node where an asynchronous arrow function does not begin as one, and where a
// class has no field in the place of its fields. A row of letters is such a field. (Node 18 wants the whole class there,
// and still ends where a field's own value raises a TypeError.)
function blanked(text) {
  const kept = { __proto__: null, async: 'async(', static: 'static ' };
  const pieces = text.split(/\b(async(?=[\s(/])|static(?=[\s{]))[^]/);
  const blank = (piece) => (piece === '' ? '' : `${'x'.repeat(piece.length - 1)};`);
  return pieces.map((piece, i) => (i % 2 === 1 ? kept[piece] : blank(piece))).join('');
}

// Returns a function that writes the record of each case, and leaves. It gets what ended the tests early, or null; then
// `failure` still can tell.
function makeTell(seals, mark, finish, failure, write, leave) {
  return (endedBy) => {
    const records = finish(endedBy ?? failure());
    for (let i = 0; i < records.length; i += 1) {
      const { ran, message, unfinished } = records[i];
      // Nothing else vouches for a record: whoever changes it on its way has not the other seal.
      const seal = ran && message === '' ? seals[i].passed : seals[i].failed;
      write(`{"case":${i},"seal":"${seal}","ran":${ran},"message":${stringify(message)},"unfinished":${unfinished}}\n`);
    }
    write(`{"end":"${mark}"}\n`);
    leave(0);
  };
}

async function prepare({ name, setup, code, sources, sites, seals, end: mark, wall_s: wallSeconds }, write) {
  const text = `${setup}\n${code}`;
  const body = bodyOf(text);
  let tests;
  try {
    tests = compileTests(body);
  } catch (error) {
    // This is said before the answer runs, so no answer can say it.
    write(`{"malformed":${describe(error)}}\n`);
    SELF.reallyExit(0);
  }
  write('"prepared"\n');
  closeBackDoors();
  let end = () => {};
  const { process: own, exitCode, callListeners } = processOfTests(() => end(true));
  const ofTests = { __proto__: null, ...modulesOfTests(), process: own };
  const { assert } = ofTests;
  const runner = /\bnode:test\b/.test(text) ? makeRunner(assert) : null;
  if (runner !== null) ofTests.test = runner.test;
  const modules = modulesOf(text, ofTests);
  const kept = [assert, assert.strict, ...Object.values(modules).filter((one) => one !== own), ...loadersOf(text)];
  if (runner?.test.mock !== undefined) kept.push(Object.getPrototypeOf(runner.test.mock));
  const intrinsics = keep(text, kept, await ledTo(text));
  const running = { __proto__: null, count: 0 };
  const flows = watchFlows(body, () => running.count > 0);
  const { checks, finish, areReached } = makeCases(sources, sites, isOneOf(ofAssert(assert)), flows.noteCase);
  const globals = { __proto__: null };
  for (const key of ownKeys(globalThis)) globals[key] = true;
  const setsExitCode = /\bexitCode\b/.test(text);
  // Tests can say by the exit code that they have failed, or by Node's way to write tests.
  const failure = () => {
    const failed = runner === null ? null : runner.failure();
    if (failed !== null) return failed;
    const code = setsExitCode ? exitCode() : 0;
    return code === 0 ? null : `the exit code is ${code}`;
  };
  const load = requireOf(modules, ofTests);
  const known = { $cases: checks, $import: importOf(load), assert, process: own, require: load };
  const values = usedAsValues(text);
  const patience = PATIENCE * wallSeconds * 1000; // milliseconds
  const late = now() + BigInt(Math.floor(patience * 1e6));
  // What never ends, such as an interval that the answer left, would end the tests by the time limit. The answer can find
  // the function of a timer, and call it.
  setTimeout(() => now() >= late && areReached() && end(false), patience + 1).unref();

  return async (program, _, leave) => {
    const tell = makeTell(seals, mark, finish, failure, write, leave);
    const endNow = (isExit) => {
      try {
        callListeners(!isExit);
      } catch (error) {
        tell(headline(error));
      }
      if (isExit && exitCode() !== 0) leave(exitCode()); // No case has passed.
      tell(isExit === false && flows.isWaiting() ? WAITING : null);
    };

    let found;
    try {
      intrinsics.restore(null);
      found = name === null ? undefined : entryPoint(program, name);
      intrinsics.restore(null); // The look-up can run code of the answer.
    } catch (error) {
      write(`{"error":${describe(error)}}\n`);
      leave(1);
    }
    const isThere = name === null || (found !== undefined && found !== null);
    write(isThere ? '{"loaded":true}\n' : '{"loaded":false}\n');
    if (!isThere) leave(0);
    try {
      const guard = makeGuard(intrinsics, running);
      if (setsExitCode) SELF.exitCode = undefined;
      known.module = { exports: program.exported };
      const scope = scopeFor(program, name, found, known, globals, guard, values);
      intrinsics.lock();
      whenUncaught((error) => tell(headline(error)));
      end = (isExit) => isExit && endNow(true);
      const run = tests(scope);
      flows.start();
      const done = run();
      flows.stop(done);
      await done;
    } catch (error) {
      tell(headline(error));
    }
    // What the tests do not await can still fail: a promise, a timer, their listeners for the end.
    end = endNow;
    whenNothingIsLeft(() => endNow(false));
  };
}

module.exports = { prepare };
