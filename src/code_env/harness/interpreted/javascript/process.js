// What tests beside an answer have as `process`, and when they have come to their end.
//
// An answer can emit the events of `process` itself, call their listeners, and set the exit code at any time. So the end
// is when Node says that nothing is left to wait for, by a number that no program can set. And the exit code is what the
// tests set in an object that the answer does not have.

'use strict';

const { nodeTiming } = require('perf_hooks').performance;

const { apply, getOwnPropertyDescriptor, getPrototypeOf, set } = Reflect;
const SELF = process;
const { on, reallyExit, setUncaughtExceptionCaptureCallback } = SELF;

function getterOf(object, key) {
  const property = getOwnPropertyDescriptor(object, key);
  return property === undefined ? getterOf(getPrototypeOf(object), key) : property.get;
}

const loopExit = getterOf(nodeTiming, 'loopExit');

// Calls a function when nothing is left to wait for. Node emits `exit` also when the program ends itself; this does not
// count.
function whenNothingIsLeft(action) {
  const listener = () => {
    if (apply(loopExit, nodeTiming, []) !== -1) action();
  };
  apply(on, SELF, ['exit', listener]);
}

// Calls a function with an exception that nobody catches, also where the answer listens for such exceptions.
function whenUncaught(action) {
  apply(setUncaughtExceptionCaptureCallback, SELF, [action]);
}

// Returns `process` as the tests have it, and a function that returns the exit code that they have set, or what is set if
// they have not. If they call `exit`, the process ends at once: neither a function in its place nor a listener of the
// answer can prevent it.
function processOfTests() {
  const own = { __proto__: null };
  own.exit = (code = own.exitCode) => reallyExit(Number(code) || 0);
  const view = new Proxy(SELF, {
    __proto__: null,
    get: (_, key) => (key in own ? own[key] : SELF[key]),
    set: (_, key, value) => {
      if (key === 'exit' || key === 'exitCode') own[key] = value;
      return set(SELF, key, value);
    },
  });
  return { process: view, exitCode: () => Number('exitCode' in own ? own.exitCode : SELF.exitCode) || 0 };
}

module.exports = { processOfTests, whenNothingIsLeft, whenUncaught };
