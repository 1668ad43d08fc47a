// What tests beside an answer have as `process`, and when they have come to their end.
//
// An answer can emit the events of `process` itself, call their listeners, and set the exit code at any time. So the
// end is when Node says that nothing is left to wait for, by a number that no program can set. And the exit code is
// what the tests set in an object that the answer does not have, which also keeps their listeners for the end.

'use strict';

const { nodeTiming } = require('perf_hooks').performance;

const { apply, getOwnPropertyDescriptor, getPrototypeOf, set, setPrototypeOf } = Reflect;
const SELF = process;
const toNumber = Number;
const { hasOwn } = Object;
const View = Proxy;
const { on, setUncaughtExceptionCaptureCallback } = SELF;

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

// Returns `process` as the tests have it; a function that returns the exit code that they have set, or what is set if
// they have not; and one that calls their listeners for `exit`. If they call `exit`, `leave` is called: neither a
// function in its place nor a listener of the answer can prevent it.
function processOfTests(leave) {
  const own = { __proto__: null };
  const listeners = [];
  setPrototypeOf(listeners, null); // An answer can change what arrays inherit.
  // Their listeners for `beforeExit`, which Node may emit more than once. They are called once more at the end, since an
  // answer can remove them, or emit the event before its time.
  const before = [];
  setPrototypeOf(before, null);
  let isLeaving = false;
  const callListeners = (nothingIsLeft) => {
    if (isLeaving) return;
    isLeaving = true;
    if (nothingIsLeft) for (let i = 0; i < before.length; i += 1) apply(before[i], view, [exitCode()]);
    for (let i = 0; i < listeners.length; i += 1) apply(listeners[i], view, [exitCode()]);
  };
  const exitCode = () => toNumber('exitCode' in own ? own.exitCode : SELF.exitCode) || 0;
  own.exit = (code = own.exitCode) => {
    own.exitCode = toNumber(code) || 0;
    leave();
  };
  // A listener comes at most once, since the end does.
  for (const name of ['on', 'once', 'addListener', 'prependListener', 'prependOnceListener']) {
    own[name] = (event, listener) => {
      if (event === 'beforeExit' && typeof listener === 'function') before[before.length] = listener;
      if (event !== 'exit' || typeof listener !== 'function') apply(SELF[name], SELF, [event, listener]);
      else if (name[0] !== 'p') listeners[listeners.length] = listener;
      else {
        for (let i = listeners.length; i > 0; i -= 1) listeners[i] = listeners[i - 1];
        listeners[0] = listener;
      }
      return view;
    };
  }
  for (const name of ['off', 'removeListener']) {
    own[name] = (event, listener) => {
      for (let j = 0; event === 'beforeExit' && j < before.length; j += 1) if (before[j] === listener) before[j] = () => {};
      let i = event === 'exit' ? listeners.length - 1 : -1;
      while (i >= 0 && listeners[i] !== listener) i -= 1;
      if (i < 0) apply(SELF[name], SELF, [event, listener]);
      else {
        for (; i < listeners.length - 1; i += 1) listeners[i] = listeners[i + 1];
        listeners.length -= 1;
      }
      return view;
    };
  }
  // A method gets the real object: one of the answer could change what the tests have.
  const withSelf = { __proto__: null, apply: (method, self, args) => apply(method, self === view ? SELF : self, args) };
  // The target has no property of its own until the tests define one, since a Proxy must show a locked one as it is.
  const view = new Proxy({ __proto__: SELF }, {
    __proto__: null,
    get: (defined, key) => {
      if (hasOwn(defined, key)) return defined[key];
      if (key in own) return own[key];
      const value = SELF[key];
      return typeof value === 'function' ? new View(value, withSelf) : value;
    },
    set: (_, key, value) => {
      if (key === 'exit' || key === 'exitCode') own[key] = value;
      return set(SELF, key, value);
    },
  });
  return { process: view, exitCode, callListeners };
}

module.exports = { processOfTests, whenNothingIsLeft, whenUncaught };
