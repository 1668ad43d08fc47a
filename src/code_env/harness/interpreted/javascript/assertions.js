// What tests beside an answer have as `assert` and `util`: copies of the modules, made before the answer runs. The
// answer does not have them. What they compare deeply is held still, see comparing.js.

'use strict';

const assert = require('assert');
const util = require('util');
const { holdStill } = require('./comparing.js');
const { text } = require('./errors.js');

const { AssertionError } = assert;
const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;

const DEEP = /^(is|not|partial)?deep/i;
const NOT_COPIED = ['length', 'name', 'prototype', 'arguments', 'caller', 'strict'];

// Node words a failure by the file of the tests, which does not exist.
function truthy(actual, message) {
  if (actual) return;
  if (message instanceof Error) throw message;
  const wording = message === undefined ? 'it is not so' : text(message);
  throw new AssertionError({ message: wording, actual, expected: true, operator: '==' });
}

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

function copyInto(copy, original) {
  for (const key of ownKeys(original)) {
    if (typeof original === 'function' && NOT_COPIED.includes(key)) continue;
    const property = getOwnPropertyDescriptor(original, key);
    if (typeof property.value === 'function' && DEEP.test(key)) property.value = checked(property.value);
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

module.exports = { modulesOfTests, truthy };
