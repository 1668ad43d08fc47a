// Records the state of JavaScript's own objects before an answer runs, and restores it before the tests run.
//
// Tests that run beside an answer compare with the methods of shared prototypes. Properties that the answer has added
// stay, because its own functions can use them, except those that the language itself looks up: iterators, `toJSON`,
// `then`, accessors.

'use strict';

const assert = require('assert');
const util = require('util');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
const { is } = Object;
const PARTS = ['value', 'get', 'set', 'writable', 'enumerable', 'configurable'];

function sharedObjects() {
  const found = new Set([globalThis, assert, assert.strict, util, util.types]);
  const samples = [[][Symbol.iterator](), new Map().entries(), new Set().entries(), ''[Symbol.iterator](), /x/[Symbol.matchAll]('')];
  samples.push(function* () {}, async function () {}, async function* () {}, (function* () {})(), (async function* () {})());
  // `Buffer` has a setter there, which keeps a new value in a place that cannot be seen.
  defineProperty(globalThis, 'Buffer', { value: Buffer, writable: true, enumerable: false, configurable: true });
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
    if (typeof value === 'function') samples.push(value, value.prototype);
    else if (typeof value === 'object' && value !== null && value !== process && value !== console) samples.push(value);
  }
  for (const sample of samples) {
    for (let one = sample; one !== null && one !== undefined; one = Object.getPrototypeOf(one)) found.add(one);
  }
  return [...found];
}

// Records their state now. `changes` returns what differs when it is called. `restore` undoes all changes except those
// that it is given, and throws if the answer has made that impossible.
function keep() {
  const kept = sharedObjects().map((object) => {
    const names = ownKeys(object);
    const properties = names.map((key) => ({ __proto__: null, key, was: describeProperty(object, key) }));
    return { __proto__: null, object, prototype: getPrototypeOf(object), names: new Set(names), properties };
  });
  const { has } = Set.prototype;

  const changes = () => {
    let first = null; // A chain of objects, because an array would have methods that are not its own.
    const add = (object, key, was) => {
      first = { __proto__: null, object, key, was, now: describeProperty(object, key), next: first };
    };
    for (let i = 0; i < kept.length; i += 1) {
      const { object, prototype, names, properties } = kept[i];
      if (getPrototypeOf(object) !== prototype && !setPrototypeOf(object, prototype)) refuse('a prototype');
      for (let j = 0; j < properties.length; j += 1) {
        const { key, was } = properties[j];
        if (!isAs(getOwnPropertyDescriptor(object, key), was)) add(object, key, was);
      }
      if (object === globalThis) continue;
      const now = ownKeys(object);
      for (let j = 0; j < now.length; j += 1) {
        if (!apply(has, names, [now[j]]) && isLookedUp(object, now[j])) add(object, now[j], null);
      }
    }
    return first;
  };

  const restore = (allowed) => {
    for (let one = changes(); one !== null; one = one.next) {
      const { object, key, was } = one;
      if (isAmong(allowed, one)) continue;
      if (was === null ? !deleteProperty(object, key) : !defineProperty(object, key, was)) refuse(String(key));
    }
  };

  return { changes, restore };
}

function refuse(what) {
  throw new Error(`the program has changed ${what} of JavaScript's own objects for good`);
}

function describeProperty(object, key) {
  const property = getOwnPropertyDescriptor(object, key);
  // Without a prototype, so that only its own properties are found.
  return property !== undefined && setPrototypeOf(property, null) ? property : null;
}

function isAmong(changes, { object, key, now }) {
  for (let one = changes; one !== null; one = one.next) {
    if (one.object === object && one.key === key) return one.now === null ? now === null : now !== null && isAs(now, one.now);
  }
  return false;
}

function isAs(now, was) {
  if (now === undefined) return false;
  for (let i = 0; i < PARTS.length; i += 1) {
    if (!is(own(now, PARTS[i]), was[PARTS[i]])) return false;
  }
  return true;
}

function own(object, key) {
  return getOwnPropertyDescriptor(object, key)?.value;
}

// Returns whether the language, or a library, finds an added property by itself.
function isLookedUp(object, key) {
  if (typeof key === 'symbol' || key === 'then') return true;
  if (key === 'toJSON') return object !== BigInt.prototype;
  // Libraries look up options in plain objects, which inherit from `Object.prototype`.
  return object === Object.prototype && typeof own(getOwnPropertyDescriptor(object, key), 'value') !== 'function';
}

module.exports = { keep };
