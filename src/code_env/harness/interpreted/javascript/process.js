// What tests beside an answer have as `process`, and when they have come to their end.
//
// An answer can emit the events of `process` itself, call their listeners, and set the exit code at any time. So the end
// is when Node says that nothing is left to wait for, by a number that no program can set. And the exit code is what the
// tests set in an object that the answer does not have.

'use strict';

const { nodeTiming } = require('perf_hooks').performance;

const { apply, getOwnPropertyDescriptor, getPrototypeOf, set } = Reflect;
const SELF = process;
const toNumber = Number;
const { hasOwn } = Object;
const View = Proxy;
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
  own.exit = (code = own.exitCode) => reallyExit(toNumber(code) || 0);
  // A method gets the real object: one of the answer could change what the tests have.
  const withSelf = { __proto__: null, apply: (method, self, args) => apply(method, self === view ? SELF : self, args) };
  // The target has no property of its own until the tests define one, since a Proxy must show a locked one as it is.
  const view = new Proxy({ __proto__: SELF }, {
    __proto__: null,
    get: (defined, key) => {
      if (hasOwn(defined, key)) return defined[key];
      const value = key in own ? own[key] : SELF[key];
      return typeof value === 'function' ? new View(value, withSelf) : value;
    },
    set: (_, key, value) => {
      if (key === 'exit' || key === 'exitCode') own[key] = value;
      return set(SELF, key, value);
    },
  });
  return { process: view, exitCode: () => toNumber('exitCode' in own ? own.exitCode : SELF.exitCode) || 0 };
}

module.exports = { processOfTests, whenNothingIsLeft, whenUncaught };
