// Properties that stand between JavaScript's own objects and what an answer can put behind them while the tests run.

'use strict';

const { AssertionError } = require('assert');

const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
const { hasOwn, prototype: ofObjects } = Object;
const ofAssertions = AssertionError.prototype;
const ErrorClass = Error;
const { captureStackTrace } = Error;

// Returns a setter that gives an object a property of its own, but not `object` itself.
function setterBeside(object, key) {
  return function (value) {
    if (this === object || this === null || (typeof this !== 'object' && typeof this !== 'function')) return;
    defineProperty(this, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  };
}

// Returns a property that always has a value, and that objects which inherit it can assign to.
function fixed(object, key, value, enumerable) {
  return { __proto__: null, get: () => value, set: setterBeside(object, key), enumerable, configurable: false };
}

// What a class and a prototype inherit, so that it stays where another prototype is put behind them.
const OF_CLASSES = ['apply', 'call', 'bind', Symbol.hasInstance].map((key) => [key, Function.prototype[key]]);
const OF_PROTOTYPES = ['hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable'].map((key) => [key, ofObjects[key]]);

// Returns what an object must have itself to be independent of its prototype: pairs of a key and a value.
function inherited(object) {
  if (typeof object === 'function') return hasOwn(object, 'prototype') ? OF_CLASSES : [];
  return hasOwn(object, 'constructor') && object !== ofObjects ? OF_PROTOTYPES : [];
}

let isAsking = false;
const asTheyAre = (_, sites) => sites;

// Returns the calls that have led to one of this function, at most so many, whatever the answer has set; null if it
// prevents that. It needs `shieldErrors`.
function sitesOfCallers(most, callee) {
  const was = getOwnPropertyDescriptor(ErrorClass, 'stackTraceLimit');
  const limit = { __proto__: null, value: most, writable: true, enumerable: true, configurable: true };
  if (!defineProperty(ErrorClass, 'stackTraceLimit', limit)) return null;
  const made = { __proto__: null };
  isAsking = true;
  try {
    captureStackTrace(made, callee);
    return made.stack;
  } finally {
    isAsking = false;
    if (was !== undefined) defineProperty(ErrorClass, 'stackTraceLimit', was);
  }
}

// Keeps the values that a failed assertion compared from the answer. Node assigns them to a new error, and has its
// stack worded, before anybody catches it.
function shieldErrors(unchanged) {
  for (const key of ['actual', 'expected', 'operator', 'generatedMessage', 'code', 'diff']) {
    const empty = { __proto__: null, value: undefined, writable: true };
    if (!hasOwn(ofAssertions, key)) defineProperty(ofAssertions, key, empty);
  }
  const isAssertion = (error) => {
    for (let one = error; one !== null; one = getPrototypeOf(one)) if (one === ofAssertions) return true;
    return false;
  };
  const setAside = setterBeside(ErrorClass, 'prepareStackTrace');
  let current = ErrorClass.prepareStackTrace;
  defineProperty(ErrorClass, 'prepareStackTrace', {
    __proto__: null,
    get: () => {
      if (isAsking) return asTheyAre;
      const word = current;
      if (typeof word !== 'function' || word === unchanged) return word;
      return (error, sites) => (isAssertion(error) ? 'AssertionError' : apply(word, ErrorClass, [error, sites]));
    },
    set(value) {
      if (this === ErrorClass) current = value;
      else apply(setAside, this, [value]);
    },
    configurable: false,
  });
}

module.exports = { fixed, inherited, shieldErrors, sitesOfCallers };
