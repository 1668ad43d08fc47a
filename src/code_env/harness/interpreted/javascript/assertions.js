// What tests beside an answer have as `assert` and `util`: copies of the modules, made before the answer runs. The
// answer does not have them. What they compare deeply is held still, see comparing.js.

'use strict';

const assert = require('assert');
const util = require('util');
const { holdStill } = require('./comparing.js');
const { text } = require('./errors.js');

const { AssertionError, throws } = assert;
const { isRegExp } = util.types;
const { apply, defineProperty, get, getOwnPropertyDescriptor, getPrototypeOf, has, ownKeys } = Reflect;
const { keys } = Object;

const DEEP = /^(is|not|partial)?deep/i;
const OF_THROWN = /^(throws|rejects)$/;
const NOT_COPIED = ['length', 'name', 'prototype', 'arguments', 'caller', 'strict'];

// Node words a failure by the file of the tests, which does not exist.
function truthy(actual, message) {
  if (actual) return;
  if (message instanceof Error) throw message;
  const wording = message === undefined ? 'it is not so' : text(message);
  throw new AssertionError({ message: wording, actual, expected: true, operator: '==' });
}

// Returns a comparison of its first two arguments, which are held still meanwhile.
function checked(compare) {
  return (...args) => {
    const release = holdStill(args[0], args[1]);
    try {
      return apply(compare, undefined, args);
    } finally {
      release();
    }
  };
}

// Returns what Node compares with an expected object: those properties of the thrown one that the expected one has too,
// and its name and message. Each is read once.
function partOf(thrown, expected) {
  if (typeof thrown !== 'object' || thrown === null) return thrown;
  const part = { __proto__: null };
  const take = (name) => {
    if (has(thrown, name)) part[name] = get(thrown, name);
  };
  take('name');
  take('message');
  const names = keys(expected);
  for (let i = 0; i < names.length; i += 1) take(names[i]);
  return part;
}

const compareThrown = checked((thrown, expected, message) => {
  throws(() => {
    throw thrown;
  }, expected, message);
});

// Tests can expect an object with some properties, which Node compares deeply. So Node gets a function that compares
// them in place of this object. It has the name of the object, because Node shows that if nothing was thrown.
function checkedThrown(compare) {
  return (...args) => {
    const expected = args[1];
    if (typeof expected === 'object' && expected !== null && !isRegExp(expected)) {
      args[1] = (thrown) => {
        compareThrown(partOf(thrown, expected), expected, args[2]);
        return true;
      };
      defineProperty(args[1], 'name', { __proto__: null, get: () => expected.name });
    }
    return apply(compare, undefined, args);
  };
}

function copyInto(copy, original) {
  for (const key of ownKeys(original)) {
    if (typeof original === 'function' && NOT_COPIED.includes(key)) continue;
    const property = getOwnPropertyDescriptor(original, key);
    if (typeof property.value === 'function') {
      if (DEEP.test(key)) property.value = checked(property.value);
      else if (OF_THROWN.test(key)) property.value = checkedThrown(property.value);
    }
    defineProperty(copy, key, property);
  }
  return copy;
}

// Returns the modules that the tests get in place of Node's, by their names.
function modulesOfTests() {
  const strict = copyInto((...args) => truthy(...args), assert.strict);
  const loose = copyInto((...args) => truthy(...args), assert);
  for (const one of [loose, strict]) {
    one.ok = one;
    one.strict = strict;
  }
  const ownUtil = copyInto(Object.create(getPrototypeOf(util)), util);
  return { __proto__: null, assert: loose, 'assert/strict': strict, util: ownUtil, sys: ownUtil };
}

// Returns the two forms of an `assert`, and their functions.
function ofAssert(assert) {
  return [assert, assert.strict].flatMap((one) => [one, ...Object.values(one).filter((value) => typeof value === 'function')]);
}

// Returns a function that says whether a value is one of these.
function isOneOf(values) {
  const known = new Set(values);
  const { has: holds } = Set.prototype;
  return (value) => apply(holds, known, [value]);
}

module.exports = { isOneOf, modulesOfTests, ofAssert, truthy };
