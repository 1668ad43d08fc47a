// The names of an answer, as the tests beside it find them.
//
// A function that the tests only call by its name is a Proxy for them. It undoes what the call has changed of
// JavaScript's own objects. Where the text of the tests does more with a name, such as to compare its value, to hand it
// over or to assign to it, the tests get what the answer has itself. Such a name is a global property then: a function
// that is called by a name in the scope would get the scope as `this`, and with it the cases.

'use strict';

const { find, isBound, isClass, setterOf } = require('./program.js');

const { apply, construct, defineProperty, get } = Reflect;
const { toString: toText } = Function.prototype;
const { hasOwn } = Object;
const View = Proxy;

const MOST_GUARDED = 300; // calls; to check all objects twice takes most of a millisecond

const SKIPPED = /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
// To call the entry point `candidate`, or hand it to `check`, as many tests do, is no other use than to call it.
const RENAMED = /\bcandidate\s*=\s*[\w$]+|\bcheck\s*\(\s*[\w$]+\s*\)/g;
const NAME = /(\bnew\s+|(?<!\.\.)\.\s*|\bfunction\s*\*?\s*)?([\p{L}_$][\p{L}\p{N}_$]*)(?=\s*(\(?))/gu;

// Returns the names that a text uses in another way than to call what they name.
function usedAsValues(text) {
  const found = { __proto__: null };
  const plain = text.replace(SKIPPED, "''").replace(RENAMED, ' ');
  for (const [, before = '', name, after] of plain.matchAll(NAME)) {
    if (before[0] !== '.' && (after !== '(' || before[0] === 'n')) found[name] = true;
  }
  return found;
}

// Returns a function of the answer as the tests call it. After each call, as `guard` decides, its changes to JavaScript's
// own objects are undone, so that the answer cannot choose what the tests compare with. Changes that the tests have made
// stay. Tests can look at its text, which a Proxy does not show.
//
// A function that is called by a name in the scope would get the scope as `this`, and with it the cases.
function guarded(target, guard, isScope) {
  const toString = () => apply(toText, target, []);
  const proxy = new View(target, {
    __proto__: null,
    get: (_, key, self) => {
      const value = get(target, key, self);
      return value === toText && self === proxy ? toString : value;
    },
    apply: (_, self, args) => guard(() => apply(target, isScope(self) ? undefined : self, args)),
    construct: (_, args, made) => guard(() => construct(target, args, made === proxy ? target : made)),
  });
  return proxy;
}

// Returns a function that calls a function, and then undoes its changes to JavaScript's own objects. It does so only for
// the first calls, since it takes time; what the tests compare with is locked as well. `running` counts the calls that
// have not returned.
function makeGuard({ changes, restore }, running) {
  let calls = 0;
  return (action) => {
    calls += 1;
    const isGuarded = calls <= MOST_GUARDED;
    const allowed = isGuarded ? changes() : null;
    running.count += 1;
    try {
      return action();
    } finally {
      running.count -= 1;
      if (isGuarded) restore(allowed);
    }
  };
}

// Returns the names that the tests do not bind themselves: those in `known`, the entry point `found`, and what the answer
// has at its top level. A look-up can run code of the answer, so a function that is only called is looked up once.
function scopeFor(program, name, found, known, globals, guard, values) {
  const fixed = { __proto__: null, ...known };
  const names = { __proto__: null };
  const opened = { __proto__: null };
  let scope = null;
  // The tests can compare a class with the `constructor` of an object. It is not called without `new`.
  const handOut = (target) => (isClass(target) ? target : guarded(target, guard, (self) => self === scope));
  // Makes a name a global property, with the value that the answer has now, or that `other` returns.
  const open = (key, other) => {
    opened[key] = true;
    let getter = other ?? (() => find(program, key, false));
    const set = (value) => {
      if (isBound(program, key)) setterOf(program, key)(value);
      else getter = () => value;
    };
    defineProperty(globalThis, key, { __proto__: null, get: () => getter(), set, configurable: true });
  };
  if (name !== null) {
    const keys = ['candidate'];
    if (!name.includes('.')) keys.push(name);
    const isOpen = typeof found !== 'function' || keys.some((key) => key in values);
    const handed = isOpen ? found : handOut(found);
    for (const key of keys) {
      if (!isOpen || hasOwn(globalThis, key)) names[key] = handed;
      else open(key, guard(() => find(program, key, false)) === found ? undefined : () => found);
    }
  }
  const look = (key) => {
    const value = guard(() => find(program, key, false));
    if (typeof value !== 'function') return value;
    if (value === found && hasOwn(names, 'candidate')) return (names[key] = names.candidate);
    // What it has put into the global object, or what the tests have put there, can be replaced.
    return hasOwn(globalThis, key) ? handOut(value) : (names[key] = handOut(value));
  };
  const isThere = (key) => {
    if (hasOwn(fixed, key) || hasOwn(names, key)) return true;
    if (hasOwn(globals, key) || hasOwn(opened, key)) return false;
    if (!hasOwn(values, key) || hasOwn(globalThis, key)) return look(key) !== undefined;
    if (guard(() => isBound(program, key) || find(program, key, false) !== undefined)) open(key);
    return false;
  };
  const refuse = () => false;
  scope = new View(names, {
    __proto__: null,
    has: (_, key) => typeof key === 'string' && isThere(key),
    get: (_, key) => (typeof key !== 'string' ? undefined : hasOwn(fixed, key) ? fixed[key] : hasOwn(names, key) ? names[key] : look(key)),
    set: (_, key, value) => {
      if (hasOwn(fixed, key)) fixed[key] = value;
      else names[key] = typeof value === 'function' ? handOut(value) : value;
      return true;
    },
    defineProperty: refuse,
    deleteProperty: refuse,
  });
  return scope;
}

module.exports = { makeGuard, scopeFor, usedAsValues };
